"""Affine read of a tensor, once or for every element of a reference."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ....ir.wire import BARE, DONE, VALUE
from ...design.gear import stored_bits
from ...fifo import Fifo
from ...occupancy import Occupancy
from ...primitives import counter
from ...select import rotated
from ...stream import signature
from ...unit import UnitCore
from ..axi.params import LENGTH_BITS, burst, word_address_bits


class LoadCore(UnitCore):
    """Requests the words of a tensor and converts them to beats.

    Up to four actors, joined by FIFOs. *watch* (by reference) reads the reference: the first beat
    of an element triggers a pass, its last beat gives the stop of the pass. *walk* is the address
    generator of a pass, one burst per cycle. *grant* requests a burst when the FIFO of words has
    space for the longest one (credit), so the load never stalls the bus; credits return a cycle
    late. *emit* splits words into beats, or gathers them, and counts the levels that close. Where a
    beat may lie across words, because rows end within a beat or tiles are no whole words, the last
    word is held beside the one at the head, and the beat is rotated out of both.

    The last beat of a pass waits for the last beat of its element, because it carries the
    reference's stop; a *prompt* load sends it without that stop, and *emit* consumes the element's
    end before the next pass. An empty group of the reference is passed on with its levels raised;
    ``DONE`` is passed on.

    Parameters
    ----------
    unit.params : Load

    Notes
    -----
    One beat or one word per cycle, whichever is wider, and a burst per cycle. A beat wider than a
    word takes a cycle per word of the bytes that it has, and a run whose first beat lies across
    words one cycle more. From a reference's head to the head of ``req`` 3 cycles, without a
    reference 2 cycles from the start; from a word's head to the beat's head 1 cycle.
    """

    def constants(self):
        base, beyond = self._base()
        return {"base": (word_address_bits(self.design.bus), base - beyond)}

    def identity(self):
        return super().identity() | {"base": self._base()[1], "region": None}

    def _base(self):
        """First word of the tensor, and its offset from the burst boundary before it."""
        base = self.params.walk.base // self.design.bus.bytes
        return base, base % burst(self.design.bus, self.channels["data"].depth)

    def elaborate(self, platform):
        m = Module()
        params, bus = self.params, self.design.bus
        data, out, req = self.data, self.out, self.req

        m.submodules.walk = steps = _Walk(self.unit, self.design)
        m.d.comb += steps.base.eq(self.base)
        m.submodules.bursts = bursts = Fifo(params.bursts(bus))
        wiring.connect(m, steps.o, bursts.w)
        m.submodules.emit = emit = _Emit(self.unit, self.design)
        wiring.connect(m, wiring.flipped(data), emit.data)
        wiring.connect(m, emit.out, wiring.flipped(out))

        if params.ref_level is not None:
            m.submodules.watch = watch = _Watch(self.unit, self.design)
            m.submodules.go = go = Occupancy(params.ahead)
            m.submodules.closes = closes = Fifo(params.closes(self.unit, self.design))
            wiring.connect(m, wiring.flipped(self.ref), watch.ref)
            wiring.connect(m, watch.closes, closes.w)
            wiring.connect(m, closes.r, emit.closes)
            m.d.comb += [
                watch.go_room.eq(go.room),
                go.put.eq(watch.go),
                steps.go.eq(go.any),
                go.take.eq(steps.gone),
            ]
        else:
            gone = Signal()
            m.d.comb += steps.go.eq(self.running & ~gone)
            with m.If(~self.running):
                m.d.sync += gone.eq(0)
            with m.Elif(steps.gone):
                m.d.sync += gone.eq(1)

        # credits beyond those for the longest burst: the sign bit decides
        depth = self.channels["data"].depth
        longest = params.longest_burst(bus, depth)
        spare = Signal(range(-longest, depth - longest + 1), init=depth - longest)
        length = bursts.r.payload[:LENGTH_BITS]
        grant, returned = Signal(), Signal()
        m.d.comb += [
            grant.eq(bursts.r.valid & req.ready & (spare >= 0)),
            bursts.r.ready.eq(grant),
            req.valid.eq(grant),
            req.payload.eq(bursts.r.payload),
        ]
        m.d.sync += [
            returned.eq(data.valid & data.ready),
            spare.eq(spare - Mux(grant, length + 1, 0) + returned),
        ]
        return m


class _Watch(wiring.Component):
    """Reads the reference: triggers passes, and queues the stops of its elements."""

    def __init__(self, unit, design):
        self.level = unit.params.ref_level
        super().__init__(
            {
                "ref": In(signature(design.channel[unit.inputs["ref"]])),
                "closes": Out(signature(unit.params.closes(unit, design))),
                "go": Out(1),
                "go_room": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        beat, closes = self.ref.payload, self.closes
        low = beat.data[: len(beat.stop)]
        inside = Signal()
        part, first, last, fire = (Signal(name=n) for n in ("part", "first", "last", "fire"))
        m.d.comb += [
            part.eq((beat.kind == VALUE) | (beat.kind == BARE) & (low <= self.level)),
            first.eq(part & ~inside),
            last.eq(~part | (beat.stop >= self.level)),
            fire.eq(self.ref.valid & (~first | self.go_room) & (~last | closes.ready)),
            self.ref.ready.eq(fire),
            self.go.eq(fire & first),
            closes.valid.eq(fire & last),
            closes.payload.kind.eq(Mux(part, VALUE, beat.kind)),
            closes.payload.stop.eq(beat.stop),
            closes.payload.data.eq(low),
        ]
        with m.If(fire):
            m.d.sync += inside.eq(~last)
        return m


class _Walk(wiring.Component):
    """Address generator of a pass, a burst per cycle."""

    def __init__(self, unit, design):
        self.walk, self.word = unit.params.walk, design.bus.bytes
        self.burst = burst(design.bus, design.channel[unit.inputs["data"]].depth)
        self.address_bits = word_address_bits(design.bus)
        super().__init__(
            {
                "base": In(self.address_bits),
                "go": In(1),
                "gone": Out(1),
                "o": Out(signature(unit.params.bursts(design.bus))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        walk, burst, word = self.walk, self.burst, self.word
        origin = walk.base // word % burst  # addresses are relative to the boundary before it
        step = walk.step(word)
        low_bits = (word // step).bit_length() - 1
        few, many = walk.words(word), walk.most_words(word)

        def first_length(low, words):
            """Words of a run's first burst, by the lowest bits of its address."""
            to_boundary = burst - low
            return Mux(to_boundary > words, words, to_boundary)

        # the current burst: its address and length; then the words of the run after it
        first = min(burst - origin, few)
        start = Signal(low_bits + self.address_bits, init=origin << low_bits)  # in steps
        address = Signal(self.address_bits, init=origin)
        length = Signal(range(burst + 1), init=first)
        behind = Signal(range(many + 1), init=few - first)
        run_ends = Signal(init=first == few)
        length_code = Signal(LENGTH_BITS)
        fire = Signal()
        m.d.comb += [
            length_code.eq(length - 1),
            fire.eq(self.go & self.o.ready),
            self.o.valid.eq(fire),
            self.o.payload.eq(Cat(length_code, (self.base + address)[: self.address_bits])),
        ]

        next_start = Signal.like(start)
        m.d.comb += next_start.eq(origin << low_bits)
        all_end = Const(1)
        for extent, jump in zip(walk.extents, walk.jumps, strict=True):
            _, end = counter(m, fire & run_ends & all_end, extent)
            with m.If(all_end & ~end):
                m.d.comb += next_start.eq(start + jump // step)
            all_end = all_end & end
        m.d.comb += self.gone.eq(fire & run_ends & all_end)

        aligned = all(jump % (burst * word) == 0 for jump in (origin * word, *walk.jumps))
        next_low, next_address = next_start[:low_bits], next_start[low_bits:]
        spare = few * word - walk.length  # a run that starts later in its word has a word more
        next_words = few if few == many else Mux(next_low > spare // step, many, few)
        next_first = Signal.like(length)
        m.d.comb += next_first.eq(
            first if aligned else first_length(next_address[: burst.bit_length() - 1], next_words)
        )
        with m.If(fire & run_ends):
            m.d.sync += [
                start.eq(next_start),
                address.eq(next_address),
                length.eq(next_first),
                behind.eq(next_words - next_first),
                run_ends.eq(next_first == next_words),
            ]
        with m.Elif(fire):
            m.d.sync += [
                address.eq(address + length),
                length.eq(Mux(behind > burst, burst, behind)),
                behind.eq(Mux(behind > burst, behind - burst, 0)),
                run_ends.eq(behind <= burst),
            ]
        return m


class _Emit(wiring.Component):
    """Converts words to beats, and counts their stops."""

    def __init__(self, unit, design):
        self.params, self.word = unit.params, design.bus.bytes
        self.realigns = self.params.realigns(design.bus)
        self.by_ref = self.params.ref_level is not None
        out = design.channel[unit.outputs["out"]]
        self.lanes = out.lanes  # none where only the structure is read
        self.bits, self.stored_bits = out.bits, stored_bits(out.bits)
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
        ends, all_end = [], Const(1)
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
            out.payload.data.eq(Cat(value[n : n + self.bits] for n in lanes)),
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

    def _aligned(self, m, gathers, emits, ends):
        """Beats that fill words, or words that fill beats.

        Returns the beat, whether this action completes it, whether it needs the word at the head,
        and whether it consumes that.
        """
        head, beat_bits = self.data.payload, 8 * self.params.gear.full
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
        bits, places = 8 * step, word // step
        at, held, holds = Signal(range(places)), Signal(8 * (word - step)), Signal()
        head = self.data.payload

        # how many steps the action is for: a word, or what is left of the beat
        (full_chunks, last_chunks), (full_rest, last_rest) = gear.chunks(word), gear.rests(word)
        row_ends, part = ends[0], Signal(range(full_chunks))
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
                m.d.sync += holds.eq(1)
            with m.Else():
                m.d.sync += [
                    at.eq(end),
                    holds.eq(end[: len(at)].any()),
                    part.eq(Mux(chunk_ends, 0, part + 1)),
                ]
        self._restart(m, emits, ends, at, holds, step)

        # both words, each where it counts, rotated by the place
        both = [head[:bits]]
        for n in range(1, places):
            either = Signal(bits, name="either")
            stays, comes = held.word_select(n - 1, bits), head.word_select(n, bits)
            m.d.comb += either.eq(Mux(holds & (at <= n), stays, comes))
            both.append(either)
        chunk = rotated(m, Cat(both), at, bits, width=8 * min(word, gear.full))

        parts = [Signal(8 * word, name=f"part_{n}") for n in range(full_chunks - 1)]
        for n, register in enumerate(parts):
            with m.If(gathers & ~fills & (part == n)):
                m.d.sync += register.eq(chunk)
        if last_chunks < full_chunks:
            parts[last_chunks - 1] = Mux(row_ends, chunk, parts[last_chunks - 1])
        beat = Cat(*parts, chunk[: 8 * full_rest])
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
                m.d.comb += next_start.eq(start + jump // step)
            inner = inner & ends[level]
        with m.If(emits & run_ends):
            m.d.sync += [start.eq(next_start), at.eq(next_start), holds.eq(0)]
