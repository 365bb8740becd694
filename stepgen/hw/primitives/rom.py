"""A table of constants with a registered output."""

from collections.abc import Sequence
from itertools import zip_longest

from amaranth.hdl import Const, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from stepgen.hw.design import stages
from stepgen.hw.primitives.block_ram import BlockRam
from stepgen.hw.primitives.delay import delayed
from stepgen.hw.primitives.device import is_ecp5

__all__ = ["Rom"]


class Rom(wiring.Component):
    """Constants, read one row per cycle.

    Parameters
    ----------
    width : int
        Bits of a row.
    rows : sequence of int

    Members
    -------
    addr : ``In``
        Row to read.
    data : ``Out``
        The row addressed ``stages.rom(width * len(rows))`` cycles ago.

    Notes
    -----
    Of LUTs up to `stepgen.hw.design.stages.LUT_ROM_BITS`. Larger ones are block RAM: on ECP5
    `BlockRam`, elsewhere multiplexers and two registers. Neither needs a device that
    initializes memories.
    """

    def __init__(self, width: int, rows: Sequence[int]):
        self.width = width
        self.rows = rows
        super().__init__({"addr": In(ceil_log2(len(rows))), "data": Out(width)})

    def elaborate(self, platform):
        m = Module()
        latency = stages.rom(self.width * len(self.rows))
        if is_ecp5(platform) and latency == stages.BLOCK_RAM:
            m.submodules.block = block = BlockRam(self.width, len(self.rows), self.rows)
            m.d.comb += [block.r_addr.eq(self.addr), self.data.eq(block.r_data)]
            return m
        rows = [Const(row, self.width) for row in self.rows]
        for bit in self.addr:
            pairs = zip_longest(rows[0::2], rows[1::2])
            rows = [even if odd is None else Mux(bit, odd, even) for even, odd in pairs]
        m.d.comb += self.data.eq(delayed(m, rows[0], latency, reset_less=True))
        return m
