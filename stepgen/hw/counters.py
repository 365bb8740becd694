"""Counters of all channels in one memory."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from ..compile.units.memory import stages
from .select import later, select

__all__ = ["Counters"]

WIDTH = 32


class Counters(wiring.Component):
    """Counts, for each channel, in how many cycles of a run each of three things happened.

    A channel counts in a few bits of its own. A turn goes round, one channel per cycle, and adds
    what has gathered there to the channel's word in a memory, so a channel costs a third of three
    full counters and the clock does not depend on the number of channels.

    Parameters
    ----------
    channels : int

    Members
    -------
    events : ``In(channels)`` each
        Three bits per channel: ``busy``, ``starved``, ``full``.
    running : ``In(1)``
        Only cycles in which it is high count.
    clear : ``In(1)``
        Start over from zero.
    settled : ``Out(1)``
        All cycles of the last run are in the memory.
    channel : ``In``
        Which channel to show.
    shown : ``Out(struct)``
        Its counters, 2 cycles later.

    Notes
    -----
    After a run it takes as many cycles as there are channels until `settled`. About 60 LUTs and 30
    flip-flops per channel.
    """

    LEAST = 8  # turns of a round: more than the stages of the addition

    def __init__(self, channels: int):
        self.channels = channels
        self.turns = max(channels, self.LEAST)
        self.shape = data.StructLayout({"busy": WIDTH, "starved": WIDTH, "full": WIDTH})
        super().__init__(
            {
                "busy": In(channels),
                "starved": In(channels),
                "full": In(channels),
                "running": In(1),
                "clear": In(1),
                "settled": Out(1),
                "channel": In(range(self.turns)),
                "shown": Out(self.shape),
            }
        )

    def elaborate(self, platform):
        m = Module()
        turns, depth = self.turns, stages(self.channels) + 1
        bits = turns.bit_length()

        ring = Signal(turns, init=1)
        turn = Signal(range(turns))
        m.d.sync += [ring.eq(ring.rotate_left(1)), turn.eq(Mux(turn == turns - 1, 0, turn + 1))]

        gathering = []
        for channel in range(self.channels):
            counts = Signal(3 * bits, name=f"counts_{channel}")
            parts = []
            for number, events in enumerate((self.busy, self.starved, self.full)):
                event = Signal(name=f"event_{channel}_{number}")
                m.d.sync += event.eq(self.running & events[channel])
                count = counts.word_select(number, bits)
                parts.append((Mux(ring[channel], 0, count) + event)[:bits])
            m.d.sync += counts.eq(Mux(self.clear, 0, Cat(parts)))
            gathering.append(counts)
        gathered = later(m, select(m, ring[: self.channels], gathering), 1)

        m.submodules.totals = totals = memory.Memory(shape=self.shape, depth=turns, init=[])
        write, read = totals.write_port(), totals.read_port()
        show = totals.read_port()
        fresh = Signal(range(turns + 1))
        total = Signal(self.shape)
        m.d.comb += [
            read.addr.eq(later(m, turn, depth - 1)),
            write.addr.eq(later(m, turn, depth)),
            write.en.eq(1),
            total.eq(Mux(fresh != 0, 0, read.data)),
            show.addr.eq(self.channel),
        ]
        for number, name in enumerate(("busy", "starved", "full")):
            m.d.comb += write.data[name].eq(total[name] + gathered.word_select(number, bits))
        with m.If(later(m, self.clear, depth)):
            m.d.sync += fresh.eq(turns)
        with m.Elif(fresh != 0):
            m.d.sync += fresh.eq(fresh - 1)
        m.d.sync += self.shown.eq(show.data)

        settling = Signal(range(turns + depth + 4))
        with m.If(self.running):
            m.d.sync += settling.eq(turns + depth + 3)
        with m.Elif(settling != 0):
            m.d.sync += settling.eq(settling - 1)
        m.d.comb += self.settled.eq(settling == 0)
        return m
