"""From bus words to the beats of a load."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.primitives import counter
from stepgen.hw.select import rotated
from stepgen.hw.stream import signature
from stepgen.ir.wire import DONE, VALUE

__all__ = ["Emit"]


class Emit(wiring.Component):
    """Converts words to beats, and counts their stops."""

    def __init__(self, unit, design):
        self.params, self.word = unit.params, unit.params.word_parts(design.bus)
        self.part_bits = unit.params.part_bits
        self.realigns = self.params.realigns(design.bus)
        self.by_ref = self.params.ref_level is not None
        self.by_address = self.params.tiles > 0
        out = design.channel[unit.outputs["out"]]
        self.lanes = out.lanes  # none where only the structure is read
        self.bits, self.stored_bits = out.bits, self.params.stored_bits(out)
        ports = {
            "data": In(signature(design.channel[unit.inputs["data"]])),
            "out": Out(signature(out)),
        }
        if self.by_ref:
            ports["closes"] = In(signature(unit.params.closes(unit, design)))
        super().__init__(ports)

    def elaborate(self, platform):
        m = Module()
        data, out = self.data, self.out
        passes = self.params.pass_level

        special = Signal()  # the next beat is an end or an empty group
        close_known = Signal()
        close_stop = Signal(len(out.payload.stop))
        ended = Signal()
        owed = Signal()  # the pass has been sent, the end of its element is not yet consumed
        prompt = self.params.prompt
        if self.by_ref:
            # While a pass goes on, its own close comes next, which is a value.
            closes, raised = self.closes, passes - self.params.ref_level
            m.d.comb += [
                special.eq(~owed & closes.valid & (closes.payload.kind != VALUE)),
                close_known.eq(prompt | closes.valid),
                close_stop.eq(closes.payload.stop + raised),
            ]
        else:
            m.d.comb += [special.eq(ended), close_known.eq(1), close_stop.eq(passes)]

        emits = Signal()
        stop = Signal.like(out.payload.stop)
        ends, all_end = [], Const(1, 1)
        for level, extent in enumerate(self.params.levels):
            _, end = counter(m, emits & all_end, extent)
            ends.append(end)
            all_end = all_end & end
            with m.If(all_end):
                m.d.comb += stop.eq(level + 1)

        gathers = Signal()  # an action that does not complete a beat
        gear = self._realigned if self.realigns else self._aligned
        value, complete, takes, pops = gear(m, gathers, emits, ends)
        may = Signal()
        m.d.comb += [
            may.eq((data.valid | ~takes) & ~special & ~owed),
            gathers.eq(may & ~complete),
        ]

        lanes = range(0, min(self.lanes * self.stored_bits, len(value)), self.stored_bits)
        last = Signal()
        m.d.comb += [
            last.eq(all_end),
            emits.eq(may & out.ready & complete & (~last | close_known)),
            data.ready.eq((gathers | emits) & pops),
            out.valid.eq(emits | special & out.ready),
            out.payload.kind.eq(VALUE),
            out.payload.stop.eq(Mux(last, passes if prompt else close_stop, stop)),
            out.payload.data.eq(Cat(self._lane(value, n) for n in lanes)),
        ]
        with m.If(emits & last):
            m.d.sync += ended.eq(not self.by_ref)

        if self.by_ref:
            m.d.comb += closes.ready.eq(special & out.ready | emits & last | owed)
            if prompt:
                m.d.sync += owed.eq((emits & last | owed) & ~closes.valid)
            with m.If(special):
                m.d.comb += [
                    out.payload.kind.eq(closes.payload.kind),
                    out.payload.data.eq(closes.payload.data + raised),
                    out.payload.stop.eq(close_stop),
                ]
                with m.If(closes.payload.kind == DONE):
                    m.d.comb += [out.payload.stop.eq(0), out.payload.data.eq(0)]
        else:
            with m.If(special):
                m.d.comb += [
                    out.payload.kind.eq(DONE),
                    out.payload.stop.eq(0),
                    out.payload.data.eq(0),
                ]
                with m.If(out.ready):
                    m.d.sync += ended.eq(0)
        return m

    def _lane(self, value, start):
        """A lane out of the bytes in memory; an address that is too large becomes all ones.

        What has fewer bits in memory is widened with its sign.
        """
        lane = value[start : start + min(self.bits, self.stored_bits)]
        if self.params.packed > 1:
            return Cat(lane, lane[-1].replicate(self.bits - len(lane)))
        if not self.params.addresses:
            return lane
        above = value[start + self.bits : start + self.stored_bits]
        return lane | above.any().replicate(self.bits)

    def _aligned(self, m, gathers, emits, ends):
        """Beats that fill words, or words that fill beats.

        Returns the beat, whether this action completes it, whether it needs the word at the head,
        and whether it consumes that.
        """
        head, beat_bits = self.data.payload, self.part_bits * self.params.gear.full
        if len(head) >= beat_bits:
            part, word_ends = counter(m, emits, len(head) // beat_bits)
            return head.word_select(part, beat_bits), Const(1), Const(1), word_ends
        part, complete = counter(m, gathers | emits, beat_bits // len(head))
        parts = Signal(beat_bits - len(head))
        with m.If(gathers):
            m.d.sync += parts.word_select(part, len(head)).eq(head)
        return Cat(parts, head), complete, Const(1), Const(1)

    def _realigned(self, m, gathers, emits, ends):
        """Beats at any place: `at` in the held word, or in the one at the head if none is held.

        Returns the same as `_aligned`. A place counts in steps, the largest unit that all have.
        """
        gear, word = self.params.gear, self.word
        step = gear.step(word)
        bits, places = self.part_bits * step, word // step
        behind, held, holds = Signal(range(places)), Signal(bits * (places - 1)), Signal()
        at = behind
        if self.by_address:  # the first place comes with the close, before any word of the tile
            inside, at = Signal(), Signal.like(behind)
            m.d.comb += at.eq(Mux(inside, behind, self.closes.payload.data))
        head = self.data.payload

        # how many steps the action is for: a word, or what is left of the beat
        (full_chunks, last_chunks), (full_rest, last_rest) = gear.chunks(word), gear.rests(word)
        row_ends = ends[0] if ends else Const(1, 1)
        part = Signal(range(full_chunks))
        rest = Mux(row_ends, last_rest // step, full_rest // step)
        chunk_ends = Mux(row_ends, part == last_chunks - 1, part == full_chunks - 1)
        count = rest if full_chunks == 1 else Mux(chunk_ends, rest, places)
        end = Signal(range(2 * places))
        beyond, takes, fills = Signal(), Signal(), Signal()
        m.d.comb += [
            end.eq(at + count),
            beyond.eq(end > places),
            takes.eq(~holds | beyond),
            fills.eq(~holds & beyond),  # a run starts in a word that does not hold its first beat
        ]
        with m.If(gathers | emits):
            with m.If(takes):
                m.d.sync += held.eq(head[bits:])
            with m.If(fills):
                m.d.sync += [holds.eq(1), behind.eq(at)]
            with m.Else():
                m.d.sync += [
                    behind.eq(end),
                    holds.eq(end[: len(at)].any()),
                    part.eq(Mux(chunk_ends, 0, part + 1)),
                ]
        if self.by_address:
            m.d.sync += inside.eq(Mux(emits & Cat(ends).all(), 0, inside | gathers | emits))
            with m.If(emits & Cat(ends).all()):
                m.d.sync += holds.eq(0)
        else:
            self._restart(m, emits, ends, behind, holds, step)

        # both words, each where it counts, rotated by the place
        both = [head[:bits]]
        for n in range(1, places):
            either = Signal(bits, name="either")
            stays, comes = held.word_select(n - 1, bits), head.word_select(n, bits)
            m.d.comb += either.eq(Mux(holds & (at <= n), stays, comes))
            both.append(either)
        chunk = rotated(m, Cat(both), at, bits, width=self.part_bits * min(word, gear.full))

        parts = [Signal(self.part_bits * word, name=f"part_{n}") for n in range(full_chunks - 1)]
        for n, register in enumerate(parts):
            with m.If(gathers & ~fills & (part == n)):
                m.d.sync += register.eq(chunk)
        if last_chunks < full_chunks:
            parts[last_chunks - 1] = Mux(row_ends, chunk, parts[last_chunks - 1])
        beat = Cat(*parts, chunk[: self.part_bits * full_rest])
        return beat, chunk_ends & ~fills, takes, takes

    def _restart(self, m, emits, ends, at, holds, step):
        """At the end of a run: what is left of its last word belongs to none, and the next run
        starts at a place of its own.
        """
        walk = self.params.walk
        start, next_start = Signal.like(at), Signal.like(at)
        levels = (*walk.levels, len(ends))
        run_ends = Cat(ends[: levels[0]]).all()
        inner = Const(1)
        for level, jump in zip(walk.levels, walk.jumps, strict=True):
            with m.If(inner & ~ends[level]):
                m.d.comb += next_start.eq(start + jump * self.params.packed // step)
            inner = inner & ends[level]
        with m.If(emits & run_ends):
            m.d.sync += [start.eq(next_start), at.eq(next_start), holds.eq(0)]
