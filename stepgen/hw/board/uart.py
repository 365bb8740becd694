"""A serial port: 8 data bits, no parity, one stop bit."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ASYNCHRONOUS", "LEAST_CYCLES", "Receiver", "Sender"]

LEAST_CYCLES = 4
"""Fewest clock cycles of a bit."""

ASYNCHRONOUS = {"ASYNC_REG": "TRUE"}
"""For Vivado: the input of these registers may change at any time, so it places them together."""


class Receiver(wiring.Component):
    """Takes bytes from a wire, each bit where its middle is.

    Parameters
    ----------
    cycles : int
        Clock cycles of a bit.

    Members
    -------
    wire : ``In(1)``
        Asynchronous, high while idle.
    valid : ``Out(1)``
        For one cycle: there is a byte.
    data : ``Out(8)``
    broken : ``Out(1)``
        For one cycle, in place of `valid`: a byte had no stop bit.
    """

    def __init__(self, cycles: int):
        self.cycles = cycles
        super().__init__({"wire": In(1, init=1), "valid": Out(1), "data": Out(8), "broken": Out(1)})

    def elaborate(self, platform):
        m = Module()
        seen = [Signal(init=1, name=f"seen_{k}", attrs=ASYNCHRONOUS) for k in range(2)]
        m.d.sync += [seen[0].eq(self.wire), seen[1].eq(seen[0])]
        level = seen[1]

        left = Signal(range(self.cycles))
        bits = Signal(range(11))  # 10: start bit, 9 to 2: data, 1: stop bit
        m.d.sync += [self.valid.eq(0), self.broken.eq(0)]
        with m.If(bits == 0):
            m.d.sync += left.eq(self.cycles // 2 - 1)
            with m.If(~level):
                m.d.sync += bits.eq(10)
        with m.Elif(left != 0):
            m.d.sync += left.eq(left - 1)
        with m.Else():
            m.d.sync += [left.eq(self.cycles - 1), bits.eq(bits - 1)]
            with m.If((bits == 10) & level):  # a spike, no start bit
                m.d.sync += bits.eq(0)
            with m.Elif(bits == 1):
                m.d.sync += [self.valid.eq(level), self.broken.eq(~level)]
            with m.Else():
                m.d.sync += self.data.eq(Cat(self.data[1:], level))
        return m


class Sender(wiring.Component):
    """Puts bytes on a wire.

    Parameters
    ----------
    cycles : int
        Clock cycles of a bit.

    Members
    -------
    i : ``In(stream)``
        Bytes.
    wire : ``Out(1)``
        A register, high while idle.
    """

    def __init__(self, cycles: int):
        self.cycles = cycles
        super().__init__({"i": In(stream.Signature(8)), "wire": Out(1, init=1)})

    def elaborate(self, platform):
        m = Module()
        left = Signal(range(self.cycles))
        bits = Signal(range(11))
        rest = Signal(9, init=(1 << 9) - 1)
        m.d.comb += self.i.ready.eq(bits == 0)
        with m.If(bits == 0), m.If(self.i.valid):
            m.d.sync += [
                rest.eq(Cat(self.i.payload, 1)),
                self.wire.eq(0),
                bits.eq(10),
                left.eq(self.cycles - 1),
            ]
        with m.Elif(left != 0):
            m.d.sync += left.eq(left - 1)
        with m.Else():
            m.d.sync += [
                self.wire.eq(rest[0]),
                rest.eq(Cat(rest[1:], 1)),
                bits.eq(bits - 1),
                left.eq(self.cycles - 1),
            ]
        return m
