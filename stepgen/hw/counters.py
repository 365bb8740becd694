"""Counters of all channels in one memory."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.design.registers import COUNTERS
from stepgen.hw.library import inline
from stepgen.hw.primitives import after, copies, delayed, resets

__all__ = ["Counters", "totals"]

EVENTS = tuple(counter.name for counter in COUNTERS)
WIDTH = 32
BANK = 8
"""Channels of a bank, and words that are ORed in one pipeline stage."""


def totals(channels: int) -> tuple[int, int]:
    """Rows of the memory of counts, and the bits of a row."""
    return -(-channels // BANK) * BANK, WIDTH * len(EVENTS)


class Counters(wiring.Component):
    """Counts, for each channel, in how many cycles of a run each of three `EVENTS` happened.

    Each channel has three narrow counters. Round robin, one channel per cycle, they are added to
    the channel's word in a memory and cleared, so a channel costs far less than three full counters
    and the clock frequency does not depend on the number of channels.

    Parameters
    ----------
    channels : int
    counted : sequence of int
        Channels that have counters, in rising order; the counts of the others are 0.
    part : callable
        How a bank of channels is instantiated: `inline`, or as an instance from a `Library`.

    Members
    -------
    busy, starved, full : ``In(counted)``
        The events of this cycle, a bit per channel that is counted.
    running : ``In(1)``
        Only cycles in which it is high count.
    clear : ``In(1)``
        Start over from zero; only while `settled`.
    settled : ``Out(1)``
        All counts of the last run have been added to the memory.
    channel : ``In``
        Which channel to show.
    shown : ``Out(struct)``
        Its counters, 2 cycles later.

    Notes
    -----
    After a run, and after a reset, it takes as many cycles as there are channels until `settled`;
    before the first run all counters are zero.
    """

    def __init__(self, channels: int, counted, *, part=inline):
        self.channels = channels
        self.counted = counted
        self.part = part
        self.banks = -(-channels // BANK)
        self.turns, _ = totals(channels)
        self.shape = data.StructLayout(dict.fromkeys(EVENTS, WIDTH))
        super().__init__(
            {
                **{event: In(len(counted)) for event in EVENTS},
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
        turn = Signal(range(turns), init=turns - 1)
        m.d.sync += turn.eq(after(turn, turns))

        reset, during = resets(m, platform), copies(m, platform, self.running)
        before = turn == turns - 1
        words = []
        begin = 0  # of the counted channels
        for number in range(self.banks):
            has = tuple(number * BANK + k in self.counted for k in range(BANK))
            if not any(has):  # its turns pass without counts
                before = delayed(m, before, BANK)
                continue
            bank = _Bank(bits, has)
            m.submodules[f"bank_{number}"] = self.part(bank, "counters", [bits, has], next(reset))
            here = slice(begin, begin := begin + sum(has))
            m.d.comb += [
                bank.turn.eq(before),
                bank.during.eq(next(during)),
                *(getattr(bank, e).eq(getattr(self, e)[here]) for e in EVENTS),
            ]
            before = bank.turn_over
            words.append(bank.gathered)
        gather = 1  # cycles from a channel's turn to its counts
        while len(words) > 1:
            words = [
                delayed(m, reduce(or_, words[k : k + BANK]), 1) for k in range(0, len(words), BANK)
            ]
            gather += 1
        gathered, gather = delayed(m, words[0], 1), gather + 1

        m.submodules.totals = totals = memory.Memory(shape=self.shape, depth=turns, init=[])
        write, read = totals.write_port(), totals.read_port()
        show = totals.read_port()
        # Turns whose totals start from zero. Also after a reset: the memory is undefined then, and
        # the first turns have not yet reached its address registers.
        fresh = Signal(range(turns + gather + 1), init=turns + gather)
        known = Signal(self.shape)
        m.d.comb += [
            read.addr.eq(delayed(m, turn, gather - 2)),
            write.addr.eq(delayed(m, turn, gather)),
            write.en.eq(1),
            show.addr.eq(self.channel),
        ]
        m.d.sync += [known.eq(read.data), self.shown.eq(show.data)]
        for number, name in enumerate(EVENTS):
            total = Mux(fresh != 0, 0, known[name])
            now = gathered[len(EVENTS) * bits + number]
            m.d.comb += write.data[name].eq(total + gathered.word_select(number, bits) + now)
        with m.If(self.clear):
            m.d.sync += fresh.eq(turns)
        with m.Elif(fresh != 0):
            m.d.sync += fresh.eq(fresh - 1)

        settles = turns + gather + 3
        settling = Signal(range(settles + 1), init=settles)
        with m.If(self.running):
            m.d.sync += settling.eq(settles)
        with m.Elif(settling != 0):
            m.d.sync += settling.eq(settling - 1)
        m.d.comb += self.settled.eq(settling == 0)
        return m


class _Bank(wiring.Component):
    """The narrow counters of `BANK` channels, which count since the channel's last turn.

    Parameters
    ----------
    bits : int
        Of a count.
    has : tuple of bool
        Which of its channels have counters.

    Members
    -------
    busy, starved, full : ``In(counted)``
        The events of this cycle, a bit per channel with counters.
    during : ``In(1)``
        Those of the cycle before count.
    turn : ``In(1)``
        The first channel's turn is next.
    turn_over : ``Out(1)``
        The last channel's turn is now.
    gathered : ``Out``
        A cycle after a channel's turn its three counts, above them the events in the cycle of its
        turn; zero if no channel of the bank had its turn.
    """

    def __init__(self, bits: int, has: tuple[bool, ...]):
        self.bits, self.has = bits, has
        super().__init__(
            {
                **{event: In(sum(has)) for event in EVENTS},
                "during": In(1),
                "turn": In(1),
                "turn_over": Out(1),
                "gathered": Out(len(EVENTS) * (bits + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        ring = Signal(BANK)
        m.d.sync += ring.eq(Cat(self.turn, ring[:-1]))
        m.d.comb += self.turn_over.eq(ring[-1])
        gathering = []
        for place, channel in enumerate(k for k, has in enumerate(self.has) if has):
            counts = [Signal(self.bits, name=f"counts_{channel}") for _ in EVENTS]
            now = [Signal(name=f"event_{channel}") for _ in EVENTS]
            for count, event, name in zip(counts, now, EVENTS, strict=True):
                m.d.sync += event.eq(getattr(self, name)[place])
                with m.If(ring[channel]):
                    m.d.sync += count.eq(0)
                with m.Elif(self.during & event):
                    m.d.sync += count.eq(count + 1)
            counted = Cat(self.during & event for event in now)
            gathering.append(Mux(ring[channel], Cat(counts, counted), 0))
        m.d.sync += self.gathered.eq(reduce(or_, gathering))
        return m
