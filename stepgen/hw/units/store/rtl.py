"""Writes a stream of tiles to a tensor, one after the other."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal

from stepgen.hw.fifo import Fifo
from stepgen.hw.packing import Packing, stored
from stepgen.hw.primitives import counter
from stepgen.hw.unit import UnitCore
from stepgen.hw.units.axi.params import LENGTH_BITS, burst, word_address_bits
from stepgen.ir.wire import DONE, VALUE


class StoreCore(UnitCore):
    """Packs beats into bus words and passes them to the arbiter in complete bursts.

    Two actors. *pack* gathers beats into words, or splits them, and requests a burst once all its
    words are in ``wdata``; the end of the stream writes the rest, with byte strobes for a last word
    that is not full. The padding of rows is not written: a beat that may lie across words is
    rotated to its place behind the bytes that wait. A beat is consumed only while there is space
    for the most output that any beat can produce. *settle* counts the acknowledgements: the run
    lasts until the last one. A beat beyond the end of the tensor is dropped and raises ``error``.

    Parameters
    ----------
    unit.params : Store

    Notes
    -----
    One beat or one word per cycle, whichever is wider; a beat wider than a word takes a cycle per
    word of the bytes that it has. Latency 0 in addition to the FIFOs', and the time that a burst
    takes to fill.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    finishes = True

    def elaborate(self, platform):
        m = Module()
        x, ack, wreq, wdata = self.x, self.ack, self.wreq, self.wdata
        bus = self.design.bus
        capacity = self.params.room(self.channels["x"])
        words_per_burst = burst(bus, self.channels["wdata"].depth)
        base = self.params.base // bus.bytes

        m.submodules.bursts = bursts = Fifo(self.params.bursts(bus))

        # what the beat at the head requires
        fits, ends, fire = Signal(), Signal(), Signal()
        left = Signal(range(capacity + 1), init=capacity)
        some_left = Signal(init=capacity > 0)
        m.d.comb += [
            fits.eq(x.valid & (x.payload.kind == VALUE) & some_left),
            ends.eq(x.valid & (x.payload.kind == DONE)),
        ]
        word, word_ready, beat_ends, partial, tail = self._gear(m, fits, ends, fire)

        # words of a burst: its address, and how many there are; whether the next one is its last
        first = base % words_per_burst
        behind = -(-(self.params.base + self.params.size) // bus.bytes)
        address = Signal(range(behind + 1), init=base)
        count = Signal(range(words_per_burst))
        some = Signal()
        place = Signal(range(words_per_burst), init=first)
        at_last = Signal(init=first == words_per_burst - 1)
        length_code, where = Signal(LENGTH_BITS), Signal(word_address_bits(bus))
        push_word, push_request = Signal(), Signal()
        m.d.comb += [
            length_code.eq(Mux(push_word, count, (count - 1)[: len(count)])),
            push_word.eq(fits & word_ready | ends & partial),
            push_request.eq(fits & word_ready & at_last | ends & (partial | some)),
            fire.eq(x.valid & wdata.ready & wreq.ready & bursts.w.ready),
            x.ready.eq(fire & ~(fits & ~beat_ends)),
            wdata.valid.eq(fire & push_word),
            wdata.payload.eq(word),
            wreq.valid.eq(fire & push_request),
            where.eq(address),
            wreq.payload.eq(Cat(length_code, where, tail)),
            bursts.w.valid.eq(fire & (push_request | ends)),
            bursts.w.payload.eq(Cat(push_request, ends)),
        ]
        with m.If(fire & ends):
            m.d.sync += [
                address.eq(base),
                count.eq(0),
                some.eq(0),
                place.eq(first),
                at_last.eq(first == words_per_burst - 1),
                left.eq(capacity),
                some_left.eq(capacity > 0),
            ]
        with m.Elif(fire & push_request):
            m.d.sync += [
                address.eq(Cat(Const(0, len(place)), address[len(place) :] + 1)),  # a boundary
                count.eq(0),
                some.eq(0),
                place.eq(0),
                at_last.eq(words_per_burst == 1),
            ]
        with m.Elif(fire & push_word):
            m.d.sync += [
                count.eq(count + 1),
                some.eq(1),
                place.eq(place + 1),
                at_last.eq(place == words_per_burst - 2),
            ]
        row_ends = x.payload.stop.any() if self.params.row_bytes else 1
        with m.If(fire & fits & beat_ends & row_ends):
            m.d.sync += [left.eq(left - 1), some_left.eq(left != 1)]
        m.d.sync += self.error.eq(x.valid & (x.payload.kind == VALUE) & ~some_left)

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

    def _gear(self, m: Module, fits, ends, fire):
        """Width conversion from beats to words.

        Returns the word, whether this beat completes it, whether the beat is consumed with it,
        whether a partial word waits, and the valid bytes of the word minus one.
        """
        channel, word_bits = self.channels["x"], self.design.bus.data_bits
        gear = self.params.gear(channel)
        beat, beat_bits = stored(self.x.payload.data, channel, gear), 8 * gear.full
        if not gear.divides(word_bits // 8):
            return self._packed(m, gear, beat, fits, ends, fire)
        whole_word = word_bits // 8 - 1
        tail = Signal(range(word_bits // 8))
        m.d.comb += tail.eq(whole_word)
        if word_bits > beat_bits:
            ratio = word_bits // beat_bits
            part, whole, some = Signal(range(ratio)), Signal(), Signal()
            parts = Signal(word_bits - beat_bits)
            with m.If(fire & ends):
                m.d.sync += [part.eq(0), whole.eq(0), some.eq(0)]
            with m.Elif(fire & fits):
                m.d.sync += [
                    part.eq(Mux(whole, 0, part + 1)),
                    whole.eq(part == ratio - 2),
                    some.eq(~whole),
                ]
            with m.If(fire & fits & ~whole):
                m.d.sync += parts.word_select(part, beat_bits).eq(beat)
            with m.If(ends & some):
                m.d.comb += tail.eq(part * (beat_bits // 8) - 1)
            return Cat(parts, beat), whole, Const(1), some, tail
        part, beat_ends = counter(m, fire & fits, beat_bits // word_bits)
        return beat.word_select(part, word_bits), Const(1), beat_ends, Const(0), tail

    def _packed(self, m: Module, gear, beat, fits, ends, fire):
        """The same for beats that may lie across words: `fill` steps of a word wait in `parts`."""
        word = self.design.bus.bytes
        step = gear.step(word)
        places = word // step
        fill, some, parts = Signal(range(places)), Signal(), Signal(8 * word)

        full_chunks, last_chunks = gear.chunks(word)
        row_ends, part = self.x.payload.stop.any(), Signal(range(full_chunks))
        beat_ends = Mux(row_ends, part == last_chunks - 1, part == full_chunks - 1)
        filled, whole, joined, turned = Packing.of(
            m, gear, word, beat, fill, parts, part=part, beat_ends=beat_ends, row_ends=row_ends
        )
        with m.If(fire & ends):
            m.d.sync += [fill.eq(0), part.eq(0), some.eq(0)]
        with m.Elif(fire & fits):
            m.d.sync += [
                fill.eq(filled),
                some.eq(filled[: len(fill)].any()),
                parts.eq(Mux(whole, turned, joined)),
                part.eq(Mux(beat_ends, 0, part + 1)),
            ]
        tail = Signal(range(word))
        m.d.comb += tail.eq(Mux(ends & some, fill * step - 1, word - 1))
        return joined, whole, beat_ends, some, tail
