"""The CRC-32 of frames, a byte in each cycle."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.board.protocol import CHECK_BYTES, CRC_POLYNOMIAL

__all__ = ["FRAME_BYTE", "START", "Closer", "following"]

START = (1 << 32) - 1

FRAME_BYTE = 9
"""Bits of a byte of a frame: the byte, and above it whether it is the last."""


def following(register, byte):
    """The register after one more byte."""
    state = list(register ^ byte)
    for _ in range(8):
        low = state.pop(0)
        state.append(0)
        state = [bit ^ low if CRC_POLYNOMIAL >> k & 1 else bit for k, bit in enumerate(state)]
    return Cat(state)


class Closer(wiring.Component):
    """Puts the CRC behind each frame.

    Members
    -------
    i : ``In(stream)``
        Bytes of frames, see `FRAME_BYTE`.
    o : ``Out(stream)``
        The same with 4 more bytes in each frame.
    """

    def __init__(self):
        super().__init__(
            {"i": In(stream.Signature(FRAME_BYTE)), "o": Out(stream.Signature(FRAME_BYTE))}
        )

    def elaborate(self, platform):
        m = Module()
        register = Signal(32, init=START)
        left = Signal(range(CHECK_BYTES + 1))
        closing = Signal()
        m.d.comb += [
            closing.eq(left != 0),
            self.o.valid.eq(closing | self.i.valid),
            self.i.ready.eq(~closing & self.o.ready),
            self.o.payload.eq(
                Mux(closing, Cat(~register[:8], left == 1), Cat(self.i.payload[:8], 0))
            ),
        ]
        with m.If(self.o.valid & self.o.ready):
            with m.If(closing):
                m.d.sync += [
                    left.eq(left - 1),
                    register.eq(Mux(left == 1, START, register >> 8)),
                ]
            with m.Else():
                m.d.sync += register.eq(following(register, self.i.payload[:8]))
                with m.If(self.i.payload[8]):
                    m.d.sync += left.eq(CHECK_BYTES)
        return m
