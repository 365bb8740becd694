"""Counters of all channels in one memory."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from ..compile.units.memory import stages
from .select import later, select_in_stages

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
        Start over from zero; only while `settled`.
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
        turns = self.turns
        bits = turns.bit_length()
        gather = stages(self.channels) + 1  # cycles from a channel's turn to its counts
        store = gather + 1  # and to the addition

        ring = Signal(turns, init=1)
        turn = Signal(range(turns))
        m.d.sync += [ring.eq(ring.rotate_left(1)), turn.eq(Mux(turn == turns - 1, 0, turn + 1))]

        # a channel's counts, and above them what happens in the very cycle of its turn
        gathering = []
        for channel in range(self.channels):
            counts, now = Signal(3 * bits, name=f"counts_{channel}"), []
            for number, events in enumerate((self.busy, self.starved, self.full)):
                event = Signal(name=f"event_{channel}_{number}")
                count = counts.word_select(number, bits)
                m.d.sync += event.eq(self.running & events[channel])
                with m.If(event):
                    m.d.sync += count.eq(count + 1)
                now.append(event)
            with m.If(ring[channel]):
                m.d.sync += counts.eq(0)
            gathering.append(Cat(counts, now))
        gathered = later(m, select_in_stages(m, ring[: self.channels], gathering), 2)

        m.submodules.totals = totals = memory.Memory(shape=self.shape, depth=turns, init=[])
        write, read = totals.write_port(), totals.read_port()
        show = totals.read_port()
        fresh = Signal(range(turns + 1))
        before = Signal(self.shape)
        m.d.comb += [
            read.addr.eq(later(m, turn, gather - 1)),
            write.addr.eq(later(m, turn, store)),
            write.en.eq(1),
            show.addr.eq(self.channel),
        ]
        m.d.sync += before.eq(read.data)
        for number, name in enumerate(("busy", "starved", "full")):
            total = Mux(fresh != 0, 0, before[name])
            event = gathered[3 * bits + number]
            m.d.comb += write.data[name].eq(total + gathered.word_select(number, bits) + event)
        with m.If(self.clear):
            m.d.sync += fresh.eq(turns)
        with m.Elif(fresh != 0):
            m.d.sync += fresh.eq(fresh - 1)
        m.d.sync += self.shown.eq(show.data)

        settling = Signal(range(turns + store + 4))
        with m.If(self.running):
            m.d.sync += settling.eq(turns + store + 3)
        with m.Elif(settling != 0):
            m.d.sync += settling.eq(settling - 1)
        m.d.comb += self.settled.eq(settling == 0)
        return m
