"""Reads a tensor, affinely once or for every element of a reference, or tiles by address."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.fifo import Fifo
from stepgen.hw.granting import Grant
from stepgen.hw.look_up import LookUp, Seek, out_of_range
from stepgen.hw.occupancy import Occupancy
from stepgen.hw.primitives import counter
from stepgen.hw.stream import signature
from stepgen.hw.unit import UnitCore
from stepgen.hw.units.axi.params import LENGTH_BITS, burst, word_address_bits
from stepgen.hw.units.load.emit import Emit
from stepgen.ir.wire import BARE, VALUE


class LoadCore(UnitCore):
    """Requests the words of a tensor and converts them to beats.

    Up to four actors, joined by FIFOs. *watch* (by reference) reads the reference: the first beat
    of an element triggers a pass, its last beat gives the stop of the pass. *walk* is the address
    generator of a pass, one burst per cycle. *grant* requests a burst when the FIFO of words has
    space for the longest one (credit), so the load never stalls the bus; credits return a cycle
    late. *emit* splits words into beats, or gathers them, and counts the levels that close. Where a
    beat may lie across words, because rows end within a beat or tiles are not whole words, the last
    word is held beside the one at the head, and the beat is rotated out of both.

    By address *look up* takes the place of *watch*, and *seek* that of *walk*: each address becomes
    the start of a tile, and that its bursts, without a wait for the tile before. A number past the
    last tile stays where it is and raises ``error``, with the number as ``detail``; what was
    requested before it still arrives.

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
    reference 2 cycles from the start, and from an address 4, or 7 where a start takes a
    multiplication; from a word's head to the beat's head 1 cycle.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def __init__(self, unit, design):
        self.details = unit.params.tiles > 0
        super().__init__(unit, design)

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
        data, out = self.data, self.out

        m.submodules.bursts = bursts = Fifo(params.bursts(bus))
        m.submodules.emit = emit = Emit(self.unit, self.design)
        wiring.connect(m, wiring.flipped(data), emit.data)
        wiring.connect(m, emit.out, wiring.flipped(out))
        if params.ref_level is not None:
            m.submodules.closes = closes = Fifo(params.closes(self.unit, self.design))
            wiring.connect(m, closes.r, emit.closes)
            (self._look_up if params.tiles else self._watch)(m, bursts.w, closes.w)
        else:
            gone = Signal()
            steps = self._walk(m, bursts.w)
            m.d.comb += steps.go.eq(self.running & ~gone)
            with m.If(~self.running):
                m.d.sync += gone.eq(0)
            with m.Elif(steps.gone):
                m.d.sync += gone.eq(1)

        depth = self.channels["data"].depth
        longest = params.longest_burst(bus, depth)
        grant = Grant(params.bursts(bus), self.channels["req"], depth, longest)
        m.submodules.grant = grant
        wiring.connect(m, bursts.r, grant.bursts)
        wiring.connect(m, grant.req, wiring.flipped(self.req))
        m.d.comb += grant.taken.eq(data.valid & data.ready)
        return m

    def _walk(self, m, bursts):
        """The address generator of passes."""
        m.submodules.walk = steps = _Walk(self.unit, self.design)
        m.d.comb += steps.base.eq(self.base)
        wiring.connect(m, steps.o, bursts)
        return steps

    def _watch(self, m, bursts, closes):
        """What triggers a pass for each element of the reference."""
        steps = self._walk(m, bursts)
        m.submodules.watch = watch = _Watch(self.unit, self.design)
        m.submodules.go = go = Occupancy(self.params.ahead)
        wiring.connect(m, wiring.flipped(self.ref), watch.ref)
        wiring.connect(m, watch.closes, closes)
        m.d.comb += [
            watch.go_room.eq(go.room),
            go.put.eq(watch.go),
            steps.go.eq(go.any),
            go.take.eq(steps.gone),
        ]

    def _look_up(self, m, bursts, closes):
        """The bursts of the tiles of addresses."""
        by = self.params.by_address(self.unit, self.design)
        m.submodules.look_up = look_up = LookUp(by, self.channels["ref"], placed=True)
        m.submodules.starts = starts = Fifo(by.starts)
        bus = self.design.bus
        m.submodules.seek = seek = Seek(by, bus, self.params.bursts(bus))
        wiring.connect(m, wiring.flipped(self.ref), look_up.ref)
        wiring.connect(m, look_up.closes, closes)
        wiring.connect(m, look_up.starts, starts.w)
        wiring.connect(m, starts.r, seek.starts)
        wiring.connect(m, seek.o, bursts)
        m.d.comb += seek.base.eq(self.base)
        m.d.sync += [
            self.error.eq(look_up.outside),
            self.detail.eq(out_of_range(self.ref.payload.data)),
        ]


class _Watch(wiring.Component):
    """Reads the reference: triggers passes, and queues the stops of its elements."""

    def __init__(self, unit, design):
        self.level, self.whole = unit.params.ref_level, unit.params.whole
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
            first.eq(part & (last if self.whole else ~inside)),
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
        bits = self.address_bits
        if all(stride >= 0 for stride in walk.strides):  # no address is before the first one
            bits = min(bits, (origin - -walk.reach() // word).bit_length())
        start = Signal(low_bits + bits, init=origin << low_bits)  # in steps
        address = Signal(bits, init=origin)
        length = Signal(range(burst + 1), init=first)
        behind = Signal(range(many + 1), init=few - first)
        run_ends = Signal(init=first == few)
        length_code = Signal(LENGTH_BITS)
        fire = Signal()
        m.d.comb += [
            length_code.eq((length - 1)[: len(length)]),
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
