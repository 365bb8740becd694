"""Width conversion from beats to words, for beats that may lie across words."""

from typing import NamedTuple

from amaranth.hdl import Cat, Const, Mux, Signal, Value

from stepgen.hw.design.gear import stored_bits
from stepgen.hw.select import rotated

__all__ = ["Packing", "stored"]


def stored(beat, channel, gear):
    """The bytes of a beat as they lie in memory, without padding."""
    lane = Const(0, stored_bits(channel))
    lanes = (beat.word_select(n, channel.bits) for n in range(channel.lanes))
    return Cat(Cat(bits, lane[channel.bits :]) for bits in lanes)[: 8 * gear.full]


class Packing(NamedTuple):
    """What moves into a word, where `fill` steps of it are filled.

    A step is the largest unit in which all places count.

    Attributes
    ----------
    filled : Value
        Steps filled with it, those of the next word too.
    whole : Value
        Whether it completes the word.
    joined : Value
        The word with what waits in it.
    turned : Value
        What moves, rotated to its place: what the word has no room for comes first.
    """

    filled: Value
    whole: Value
    joined: Value
    turned: Value

    @classmethod
    def of(cls, m, gear, word, beat, fill, parts, *, part, beat_ends, row_ends):
        """Of chunk `part` of a beat behind `fill` steps of `parts`."""
        step = gear.step(word)
        bits, places = 8 * step, word // step
        (full_chunks, _), (full_rest, last_rest) = gear.chunks(word), gear.rests(word)
        rest = Mux(row_ends, last_rest // step, full_rest // step)
        count = rest if full_chunks == 1 else Mux(beat_ends, rest, places)
        filled, whole = Signal(range(2 * places)), Signal()
        m.d.comb += [filled.eq(fill + count), whole.eq(filled >= places)]

        chunk = beat
        if full_chunks > 1:
            chunk = Cat(beat, Const(0, 8 * (word * full_chunks - gear.full)))
            chunk = chunk.word_select(part, 8 * word)
        padded, joined = Signal(8 * word), Signal(8 * word)
        m.d.comb += padded.eq(chunk)
        turned = rotated(m, padded, fill, bits, up=True)
        m.d.comb += joined.eq(turned)
        for n in range(places):
            with m.If(fill > n):
                m.d.comb += joined.word_select(n, bits).eq(parts.word_select(n, bits))
        return cls(filled, whole, joined, turned)
