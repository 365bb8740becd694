"""Two beats between a channel and the matrix unit, whose data are read when products need them."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.design.table import Channel
from stepgen.hw.primitives import counter, delayed, read_at_once
from stepgen.hw.stream import signature
from stepgen.hw.units.matmul.params import ROWS_OF_X

__all__ = ["Pair"]


class Pair(wiring.Component):
    """A FIFO of depth 2 and latency 1 whose data stay where they were written.

    What takes a beat switches a few registers of structure and an address. In a FIFO it would
    enable all registers of the head, wherever in a large unit their data are needed; and they would
    pass as many more registers as the weights of a step take to be read.

    Parameters
    ----------
    channel : Channel
        Of the beats.
    bits : int
        Bits of the data.
    later : int
        Cycles after which the data of the head are at `data`, at most `ROWS_OF_X` - 2: it is read
        so long after its beat has been taken.

    Members
    -------
    i : ``In(stream)``
        From the channel; ``ready`` is a register.
    o : ``Out(stream)``
        The head, all from registers; of its data only what a beat of structure needs.
    data : ``Out``
        The data of what was the head `later` cycles ago.
    """

    def __init__(self, channel: Channel, bits: int, later: int):
        self.channel, self.later = channel, later
        beat = signature(channel)
        super().__init__({"i": In(beat), "o": Out(beat), "data": Out(bits)})

    def elaborate(self, platform):
        m = Module()
        beat, head = self.i.payload, self.o.payload
        low = slice(len(beat.stop))  # of a beat of structure: the level that it closes
        second, waits = Signal.like(beat, reset_less=True), Signal()
        push, pop, loads = Signal(), Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(~waits),
            push.eq(self.i.valid & self.i.ready),
            pop.eq(self.o.valid & self.o.ready),
            loads.eq(pop | ~self.o.valid),
        ]
        m.d.sync += waits.eq(~loads & (waits | push))
        with m.If(loads):
            m.d.sync += [
                self.o.valid.eq(waits | push),
                head.kind.eq(Mux(waits, second.kind, beat.kind)),
                head.stop.eq(Mux(waits, second.stop, beat.stop)),
                head.data[low].eq(Mux(waits, second.data[low], beat.data[low])),
            ]
        with m.If(self.i.ready):
            m.d.sync += [
                second.kind.eq(beat.kind),
                second.stop.eq(beat.stop),
                second.data[low].eq(beat.data[low]),
            ]

        m.submodules.places = places = memory.Memory(
            shape=len(self.data), depth=ROWS_OF_X, init=[], attrs=read_at_once(platform)
        )
        write, read = places.write_port(), places.read_port(domain="comb")
        put, _ = counter(m, push, ROWS_OF_X)
        take, _ = counter(m, pop, ROWS_OF_X)
        m.d.comb += [
            write.en.eq(push),
            write.addr.eq(put),
            write.data.eq(beat.data),
            read.addr.eq(delayed(m, take, self.later, reset_less=True)),
            self.data.eq(read.data),
        ]
        return m
