"""Writes a stream of tiles to a tensor, one after the other."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal

from ...compile.design import Channel
from ...compile.units.axi import LENGTH_BITS, burst, word_address_bits
from ...compile.units.store import bursts_ahead
from ...ir.wire import DONE, VALUE
from ..fifo import Fifo
from ..unit import UnitCore


class Core(UnitCore):
    """Packs beats into bus words and hands them to the arbiter, a whole burst at a time.

    Two actors. *pack* gathers beats into words, or cuts them, and asks for a burst once all its
    words wait in ``wdata``; the end of the stream writes what is left, a last word that is not full
    under byte strobes. *finish* counts the acknowledgements: the run lasts until the last one.

    Parameters
    ----------
    unit.params
        As in ``stepgen/compile/units/store.py``.

    Notes
    -----
    One beat or one word per cycle, whichever is wider. Latency 0 beside the FIFOs', and the time
    that a burst takes to fill. Costs a register of one bus word, three counters and an adder.
    """

    finishes = True

    def elaborate(self, platform):
        m = Module()
        x, ack = self.inputs
        wreq, wdata = self.outputs
        bus = self.design.bus
        beat_bits = self.in_channels[0].lanes * self.in_channels[0].bits
        capacity = 8 * self.params["size"] // beat_bits
        words_per_burst = burst(bus, self.out_channels[1].depth)
        base = self.params["base"] // bus.bytes

        m.submodules.bursts = bursts = Fifo(Channel("bursts", 1, 2, None, bursts_ahead(bus)))

        # what the beat at the head asks for
        fits, ends = Signal(), Signal()
        left = Signal(range(capacity + 1), init=capacity)
        m.d.comb += [
            fits.eq(x.valid & (x.payload.kind == VALUE) & (left != 0)),
            ends.eq(x.valid & (x.payload.kind == DONE)),
        ]
        fire = Signal()
        word, word_ready, beat_ends, partial, tail = self._gear(m, fits, ends, fire, beat_bits)

        # words of a burst
        address = Signal(word_address_bits(bus), init=base)
        place = Signal(range(words_per_burst), init=base % words_per_burst)
        count = Signal(range(words_per_burst))
        length_code = Signal(LENGTH_BITS)
        push_word, push_request = Signal(), Signal()
        m.d.comb += [
            length_code.eq(Mux(push_word, count, count - 1)),
            push_word.eq(fits & word_ready | ends & partial),
            push_request.eq(
                fits & word_ready & (place == words_per_burst - 1) | ends & (partial | (count != 0))
            ),
            fire.eq(
                x.valid
                & (~push_word | wdata.ready)
                & (~push_request | wreq.ready)
                & (~(push_request | ends) | bursts.w.ready)
            ),
            x.ready.eq(fire & ~(fits & ~beat_ends)),
            wdata.valid.eq(fire & push_word),
            wdata.payload.eq(word),
            wreq.valid.eq(fire & push_request),
            wreq.payload.eq(Cat(length_code, address, tail)),
            bursts.w.valid.eq(fire & (push_request | ends)),
            bursts.w.payload.eq(Cat(push_request, ends)),
        ]
        with m.If(fire & ends):
            m.d.sync += [
                address.eq(base),
                place.eq(base % words_per_burst),
                count.eq(0),
                left.eq(capacity),
            ]
        with m.Elif(fire & push_word):
            m.d.sync += [place.eq(place + 1), count.eq(count + 1)]
            with m.If(push_request):
                m.d.sync += [address.eq(address + count + 1), place.eq(0), count.eq(0)]
        with m.If(fire & fits & beat_ends):
            m.d.sync += left.eq(left - 1)
        m.d.sync += self.error.eq(x.valid & (x.payload.kind == VALUE) & (left == 0))

        settled = Signal()
        waits, end = bursts.r.payload[0], bursts.r.payload[1]
        m.d.comb += [
            settled.eq(bursts.r.valid & (~waits | ack.valid)),
            bursts.r.ready.eq(settled),
            ack.ready.eq(settled & waits),
        ]
        with m.If(~self.running):
            m.d.sync += self.finished.eq(0)
        with m.Elif(settled & end):
            m.d.sync += self.finished.eq(1)
        return m

    def _gear(self, m: Module, fits, ends, fire, beat_bits: int):
        """Between beats and words.

        Returns the word, whether it is whole with this beat, whether the beat is used up with it,
        whether part of a word waits, and the valid bytes of the word minus one.
        """
        beat = self.inputs[0].payload.data[:beat_bits]
        word_bits = self.design.bus.data_bits
        tail = Signal(range(word_bits // 8), init=word_bits // 8 - 1)
        m.d.comb += tail.eq(word_bits // 8 - 1)
        if word_bits > beat_bits:
            ratio = word_bits // beat_bits
            part = Signal(range(ratio))
            parts = Signal(word_bits - beat_bits)
            whole = part == ratio - 1
            with m.If(fire & fits):
                m.d.sync += part.eq(Mux(whole, 0, part + 1))
                with m.If(~whole):
                    m.d.sync += parts.word_select(part, beat_bits).eq(beat)
            with m.If(fire & ends):
                m.d.sync += part.eq(0)
            with m.If(ends & (part != 0)):
                m.d.comb += tail.eq(part * (beat_bits // 8) - 1)
            return Cat(parts, beat), whole, Const(1), part != 0, tail
        ratio = beat_bits // word_bits
        part = Signal(range(ratio))
        beat_ends = part == ratio - 1
        with m.If(fire & fits):
            m.d.sync += part.eq(Mux(beat_ends, 0, part + 1))
        return beat.word_select(part, word_bits), Const(1), beat_ends, Const(0), tail
