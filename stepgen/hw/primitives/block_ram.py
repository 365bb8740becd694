"""A memory with a registered output."""

from amaranth.hdl import Module
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ...compile import stages
from .delay import delayed

__all__ = ["BlockRam"]

SHALLOW = 32
"""Rows up to which LUT RAM is the better home."""


class BlockRam(wiring.Component):
    """Memory with one write port and one read port, both of which work in every cycle.

    Parameters
    ----------
    width, depth : int
        Bits of a row, and rows.

    Members
    -------
    w_en, w_addr, w_data : ``In``
        Write a row; reading sees it from the next cycle on.
    r_addr : ``In``
        Row to read.
    r_data : ``Out``
        The row addressed two cycles ago. Undefined where that row was written in the same cycle.
    """

    def __init__(self, width: int, depth: int):
        self.width = width
        self.depth = depth
        address = ceil_log2(depth)
        super().__init__(
            {
                "w_en": In(1),
                "w_addr": In(address),
                "w_data": In(width),
                "r_addr": In(address),
                "r_data": Out(width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        style = "distributed" if self.depth <= SHALLOW else "block"
        m.submodules.rows = rows = memory.Memory(
            shape=self.width, depth=self.depth, init=[], attrs={"ram_style": style}
        )
        write, read = rows.write_port(), rows.read_port()
        m.d.comb += [
            write.en.eq(self.w_en),
            write.addr.eq(self.w_addr),
            write.data.eq(self.w_data),
            read.en.eq(1),
            read.addr.eq(self.r_addr),
            self.r_data.eq(delayed(m, read.data, stages.BLOCK_RAM - 1, reset_less=True)),
        ]
        return m
