"""Rows that a matrix unit reads several times, in a memory for two."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.design.table import Channel
from stepgen.hw.fifo import Fifo
from stepgen.hw.primitives import BlockRam, counter, delayed
from stepgen.hw.stream import signature
from stepgen.hw.units.matmul.params import COMPLETE, SPREAD, half
from stepgen.ir.wire import BARE, VALUE

__all__ = ["Rows"]


class Rows(wiring.Component):
    """Loads rows, each into one half of a memory in turn, and shows which are complete.

    Parameters
    ----------
    channel : Channel
        Of the rows.
    queue : Channel
        Of a beat for each complete row, with the stop of its last one, and of those without values.
        If it has a lane, that is the number of the row's last slice.
    slices : int
        Beats of a row, or the most if each says by its stop where it ends.
    level : int
        Least stop of a row's last beat.
    bits : int
        Bits of a slice.
    spread : int
        Stage that distributes a slice to the memory.

    Members
    -------
    i : ``In(stream)``
        From the channel.
    o : ``Out(stream)``
        The queue's head.
    number : ``In``
        Which slice to read of the row at the head.
    used : ``In(1)``
        The row at the head has been used.
    data : ``Out``
        The slice that was numbered `SPREAD` and a block RAM's stages ago.
    error : ``Out(1)``
        The beat at `i` does not fit.
    """

    def __init__(
        self, channel: Channel, queue: Channel, slices: int, level: int, bits: int, spread: int = 0
    ):
        self.channel, self.queue = channel, queue
        self.slices, self.level, self.spread = slices, level, spread
        super().__init__(
            {
                "i": In(signature(channel)),
                "o": Out(signature(queue)),
                "number": In(range(slices)),
                "used": In(1),
                "data": Out(bits),
                "error": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        beat = self.i.payload
        m.submodules.queue = queue = Fifo(self.queue)
        rows = BlockRam(len(self.data), COMPLETE * half(self.slices))
        m.submodules.memory = rows
        is_value, closes = beat.kind == VALUE, beat.stop >= self.level
        fire, takes, inside = Signal(), Signal(), Signal()
        writes_upper, reads_upper = Signal(), Signal()
        if self.queue.lanes:
            number, ends = Signal(range(self.slices)), beat.stop != 0
            with m.If(takes):
                m.d.sync += number.eq(Mux(ends, 0, number + 1))
            misshapen = (ends != closes) | ~ends & (number == self.slices - 1)
        else:
            number, ends = counter(m, takes, self.slices)
            misshapen = ((beat.stop != 0) != ends) | (closes != ends)
        low = beat.data[: len(beat.stop)]
        m.d.comb += [
            fire.eq(self.i.valid & (inside | queue.w.ready)),
            takes.eq(fire & is_value),
            self.i.ready.eq(fire),
            queue.w.valid.eq(fire & (ends | ~is_value)),
            queue.w.payload.kind.eq(beat.kind),
            queue.w.payload.stop.eq(beat.stop),
            queue.w.payload.data.eq(Mux(is_value, number, low) if self.queue.lanes else low),
            rows.w_en.eq(delayed(m, takes, self.spread)),
            rows.w_addr.eq(delayed(m, Cat(number, writes_upper), self.spread, reset_less=True)),
            rows.w_data.eq(delayed(m, beat.data, self.spread, reset_less=True)),
            rows.r_addr.eq(delayed(m, Cat(self.number, reads_upper), SPREAD, reset_less=True)),
            self.data.eq(rows.r_data),
        ]
        with m.If(takes):
            m.d.sync += [inside.eq(~ends), writes_upper.eq(writes_upper ^ ends)]
        with m.If(self.used):
            m.d.sync += reads_upper.eq(~reads_upper)
        wiring.connect(m, wiring.flipped(self.o), queue.r)
        nothing = (beat.kind == BARE) & (low <= self.level)
        wrong = is_value & misshapen | nothing | ~is_value & inside
        m.d.comb += self.error.eq(self.i.valid & wrong)
        return m
