"""Reads tiles of one shape for several consumers, each when it has room for a whole one."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.design.params import numbered
from stepgen.hw.fifo import Fifo
from stepgen.hw.granting import Grant
from stepgen.hw.occupancy import Occupancy
from stepgen.hw.onehot import select
from stepgen.hw.primitives import counter, stored_in
from stepgen.hw.select import RoundRobin
from stepgen.hw.stream import signature
from stepgen.hw.unit import UnitCore
from stepgen.hw.units.axi.params import LENGTH_BITS, word_address_bits
from stepgen.ir.wire import BARE, DONE, KIND_BITS, TILE_LEVELS, VALUE


class LoaderCore(UnitCore):
    """Requests tiles for its readers, one after the other, and sends each to its consumer.

    Two actors for each reader: *watch* reads its reference, and queues a pass at the first beat of
    an element, and what passes between elements; *credit* takes what its consumer gives back. Three
    for all: *fetch* chooses a reader, takes its tile in the next cycle, and makes bursts of it, one
    per cycle. It chooses only when nothing is left of the tile before: round robin among the
    readers that have a pass due and room behind them for a whole tile. *grant* requests a burst
    when the FIFO of words has space for the longest one (credit), which returns a cycle late.
    *emit* splits words into beats, counts the levels of the tile, and sends them to the reader
    whose turn it is. A consumer takes every beat of a tile that it has room for, so no tile waits
    behind that of another reader.

    Parameters
    ----------
    unit.params : Loader

    Notes
    -----
    One beat per cycle; of a tile the addresses take two cycles and one per burst. From a
    reference's head to the head of ``req`` 6 cycles; from a word's head to the beat's head 1 cycle.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def constants(self):
        base = self.params.starts(self.unit, self.design).boundary
        return {"base": (word_address_bits(self.design.bus), base)}

    def identity(self):
        starts = self.params.starts(self.unit, self.design)
        own = {"regions": None, "bases": None, "offsets": None}
        return super().identity() | own | {"origins": starts.origins, "aligned": starts.aligned}

    def elaborate(self, platform):
        m = Module()
        params, bus, unit = self.params, self.design.bus, self.unit
        m.submodules.bursts = bursts = Fifo(params.bursts(bus))
        m.submodules.turns = turns = Fifo(params.turns(unit, self.design))
        m.submodules.fetch = fetch = _Fetch(unit, self.design)
        for n in range(params.readers):
            m.submodules[f"watch_{n}"] = watch = _Watch(unit, self.design, n)
            m.submodules[f"due_{n}"] = due = Fifo(params.due(unit, self.design, n))
            m.submodules[f"credit_{n}"] = under_way = Occupancy(params.room(unit, self.design, n))
            free = getattr(self, f"free_{n}")
            wiring.connect(m, wiring.flipped(getattr(self, f"ref_{n}")), watch.ref)
            wiring.connect(m, watch.due, due.w)
            wiring.connect(m, due.r, getattr(fetch, f"due_{n}"))
            m.d.comb += [
                free.ready.eq(1),
                under_way.take.eq(free.valid),
                under_way.put.eq(fetch.taken[n]),
                fetch.room[n].eq(under_way.room),
            ]
        wiring.connect(m, fetch.turns, turns.w)
        wiring.connect(m, fetch.bursts, bursts.w)
        m.d.comb += [fetch.restart.eq(~self.running), fetch.base.eq(self.base)]
        depth = self.channels["data"].depth
        longest = params.longest_burst(bus, depth)
        grant = Grant(params.bursts(bus), self.channels["req"], depth, longest)
        m.submodules.grant = grant
        wiring.connect(m, bursts.r, grant.bursts)
        wiring.connect(m, grant.req, wiring.flipped(self.req))
        m.d.comb += grant.taken.eq(self.data.valid & self.data.ready)
        self._emit(m, turns.r, fetch.turn)
        return m

    def _emit(self, m, turns, layout):
        """Send the beats of words, and what passes between tiles, to the reader in turn."""
        params, load = self.params, self.params.loads[0]
        outs = [getattr(self, port) for port in numbered("out", params.readers)]
        turn = layout(turns.payload)
        is_tile, comes, sends = Signal(), Signal(), Signal()
        # An output's `valid` does not wait for the `ready` of all others: they lie far apart.
        m.d.comb += [
            is_tile.eq(turn.kind == VALUE),
            comes.eq(turns.valid & (self.data.valid | ~is_tile)),
            sends.eq(comes & (turn.reader & Cat(out.ready for out in outs)).any()),
        ]
        beats = sends & is_tile
        part, word_ends = counter(m, beats, params.word_beats(self.design.bus))
        _, row_ends = counter(m, beats, load.slices)
        _, tile_ends = counter(m, beats & row_ends, params.rows)
        last = row_ends & tile_ends
        m.d.comb += [
            self.data.ready.eq(beats & word_ends),
            turns.ready.eq(sends & (last | ~is_tile)),
        ]
        parts = self.data.payload.word_select(part, load.part_bits * load.gear.full)
        for n, out in enumerate(outs):
            bits, stored = out.payload.data.shape().width, load.part_bits * load.gear.full
            channel = self.channels[f"out_{n}"]
            lane = load.stored_bits(channel)
            lanes = (parts[at : at + lane] for at in range(0, stored, lane))
            value = Cat(_widened(one, channel.bits) for one in lanes)[:bits]
            m.d.comb += [
                out.valid.eq(comes & turn.reader[n]),
                out.payload.kind.eq(turn.kind),
                out.payload.stop.eq(Mux(is_tile & ~last, row_ends, turn.stop)),
                out.payload.data.eq(Mux(is_tile, value, turn.low)),
            ]


def _widened(lane, bits):
    """A lane as it is in memory, widened with its sign where it has fewer bits there."""
    return Cat(lane, lane[-1].replicate(bits - len(lane))) if len(lane) < bits else lane


class _Watch(wiring.Component):
    """Reads a reference: queues a pass for each element, and what passes between elements."""

    def __init__(self, unit, design, reader):
        self.level, self.whole = unit.params.ref_level, unit.params.whole
        super().__init__(
            {
                "ref": In(signature(design.channel[unit.inputs[f"ref_{reader}"]])),
                "due": Out(signature(unit.params.due(unit, design, reader))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        beat, due = self.ref.payload, self.due
        low = beat.data[: len(beat.stop)]
        inside, part, last, queues, fire = Signal(), Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            part.eq((beat.kind == VALUE) | (beat.kind == BARE) & (low <= self.level)),
            last.eq(~part | (beat.stop >= self.level)),
            queues.eq(~part | (last if self.whole else ~inside)),
            fire.eq(self.ref.valid & (~queues | due.ready)),
            self.ref.ready.eq(fire),
            due.valid.eq(fire & queues),
            due.payload.kind.eq(Mux(part, VALUE, beat.kind)),
            due.payload.stop.eq(beat.stop),
            due.payload.data.eq(low),
        ]
        with m.If(fire):
            m.d.sync += inside.eq(~last)
        return m


class _Fetch(wiring.Component):
    """Chooses the reader whose tile is next, knows where each is in its pass, and makes bursts."""

    def __init__(self, unit, design):
        params = self.params = unit.params
        self.bus, self.by = design.bus, params.starts(unit, design)
        turns = params.turns(unit, design)
        levels = (turns.bits - params.readers - KIND_BITS) // 2
        self.turn = data.StructLayout(
            {"reader": params.readers, "kind": KIND_BITS, "stop": levels, "low": levels}
        )
        dues = {
            f"due_{n}": In(signature(params.due(unit, design, n))) for n in range(params.readers)
        }
        super().__init__(
            {
                **dues,
                "room": In(params.readers),
                "taken": Out(params.readers),
                "base": In(word_address_bits(design.bus)),
                "bursts": Out(signature(params.bursts(design.bus))),
                "turns": Out(signature(turns)),
                "restart": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        params, turns = self.params, self.turns
        dues = [getattr(self, f"due_{n}") for n in range(params.readers)]
        m.submodules.order = order = RoundRobin(params.readers)
        chosen, takes = Signal(params.readers), Signal()
        asks = Signal(params.readers)
        picks, busy = Signal(), Signal()  # busy: bursts are left of a tile
        m.d.comb += [
            asks.eq(Cat(due.valid for due in dues) & self.room),
            order.asks.eq(asks),
            picks.eq(asks.any() & turns.ready & ~takes & ~busy),
            order.taken.eq(picks),
            order.restart.eq(self.restart),
        ]
        m.d.sync += takes.eq(picks)
        with m.If(picks):
            m.d.sync += chosen.eq(order.grant)

        beat = dues[0].payload.shape()(select(chosen, [due.payload.as_value() for due in dues]))
        is_tile, pass_ends = Signal(), Signal()
        raised = params.loads[0].pass_level - params.ref_level
        address = Signal(self.by.bits)
        start, stop = self._walk(m, chosen, takes & is_tile, address, pass_ends)
        turn = Signal(self.turn)
        m.d.comb += [
            is_tile.eq(beat.kind == VALUE),
            self.taken.eq(chosen & takes.replicate(params.readers)),
            turns.valid.eq(takes),
            turns.payload.eq(turn),
            turn.reader.eq(chosen),
            turn.kind.eq(beat.kind),
            turn.stop.eq(Mux(is_tile, stop, beat.stop + raised)),
            turn.low.eq(beat.data + raised),
        ]
        with m.If(beat.kind == DONE):
            m.d.comb += [turn.stop.eq(0), turn.low.eq(0)]
        # Each queue decides by its own head, so its `ready` does not wait for the selection.
        for bit, due in zip(chosen, dues, strict=True):
            m.d.comb += due.ready.eq(takes & bit & (pass_ends | (due.payload.kind != VALUE)))
        self._seek(m, takes & is_tile, start, address, busy)
        return m

    def _seek(self, m, takes, start, address, busy):
        """Make the bursts of a tile that starts at a word; drives the next one's address, and
        whether some are left.
        """
        burst, words = self.by.burst, self.params.tile_words(self.bus)
        fire, last = Signal(), Signal()
        m.d.comb += fire.eq(busy & self.bursts.ready)
        if self.by.aligned:
            length = Const(burst, range(burst + 1))
            _, ends = counter(m, fire, words // burst)
            m.d.comb += last.eq(ends)
        else:
            length, behind = Signal(range(burst + 1)), Signal(range(words + 1))
            to_boundary = burst - start[: burst.bit_length() - 1]
            one = words <= to_boundary
            m.d.comb += last.eq(behind == 0)
            with m.If(takes):
                m.d.sync += [
                    length.eq(Mux(one, words, to_boundary)),
                    behind.eq(Mux(one, 0, words - to_boundary)),
                ]
            with m.Elif(fire):
                m.d.sync += [
                    length.eq(Mux(behind > burst, burst, behind)),
                    behind.eq(Mux(behind > burst, behind - burst, 0)),
                ]
        with m.If(takes):
            m.d.sync += [busy.eq(1), address.eq(start)]
        with m.Elif(fire):
            m.d.sync += [busy.eq(~last), address.eq(address + length)]
        length_code = Signal(LENGTH_BITS)
        m.d.comb += [
            length_code.eq((length - 1)[: (burst - 1).bit_length()]),  # not its sign
            self.bursts.valid.eq(fire),
            self.bursts.payload.eq(Cat(length_code, (self.base + address)[: len(self.base)])),
        ]

    def _walk(self, m, chosen, fire, address, pass_ends):
        """Where the next tile of the chosen reader starts, and the level that it closes.

        A memory holds, for each reader, the next tile of its pass and how many dims end with it.
        What follows a tile is computed and stored in the cycle after it was taken: no tile is
        taken in that cycle, because its first burst has yet to be made.

        Parameters
        ----------
        m : Module
        chosen : Value
            The reader, one-hot; the same in the next cycle if a tile is taken.
        fire : Value
            Whether the tile is taken.
        address : Value
            The start of the tile in the cycle after it was taken.
        pass_ends : Signal
            To be driven: it is the last tile of its pass.
        """
        params, readers, bits = self.params, self.params.readers, self.by.bits
        extents, jumps = [*reversed(params.shape)], params.jumps(self.bus)
        first = select(chosen, [Const(n, bits) for n in self.by.origins])
        inner = [k for k, extent in enumerate(extents) if extent > 1]
        if not inner:
            m.d.comb += pass_ends.eq(1)
            return first, TILE_LEVELS + len(extents)
        progress = data.StructLayout(
            {"ends": range(len(extents) + 1), **{f"count_{k}": range(extents[k]) for k in inner}}
        )
        places = data.StructLayout({"start": bits, "progress": progress})
        m.submodules.places = ram = memory.Memory(
            shape=places, depth=readers, init=[], attrs=stored_in("distributed")
        )
        write, read = ram.write_port(), ram.read_port(domain="comb")
        fresh = Signal(readers, init=-1)  # readers at the start of a pass
        begins, index = Signal(), Signal(range(readers))
        here, taken, following = Signal(progress), Signal(progress), Signal(progress)
        for n in range(readers):
            with m.If(chosen[n]):
                m.d.comb += index.eq(n)
        m.d.comb += [
            begins.eq((fresh & chosen).any()),
            here.eq(Mux(begins, Cat(Const(inner[0], len(here.ends))), read.data.progress)),
            pass_ends.eq(here.ends == len(extents)),
        ]

        advances, leaves = Signal(), Signal()
        jump = Signal(bits)
        m.d.sync += [advances.eq(fire), leaves.eq(pass_ends), taken.eq(here)]
        m.d.comb += following.ends.eq(len(extents))
        for k in reversed(inner):
            own, last = f"count_{k}", Signal()
            # Dims below the one that steps begin anew; those above stay.
            m.d.comb += following[own].eq(
                Mux(taken.ends == k, taken[own] + 1, Mux(taken.ends < k, taken[own], 0))
            )
            m.d.comb += last.eq(following[own] == extents[k] - 1)
            with m.If(~last):
                m.d.comb += following.ends.eq(k)
            with m.If(taken.ends == k):
                m.d.comb += jump.eq(jumps[k])
        m.d.comb += [
            read.addr.eq(index),
            write.addr.eq(index),
            write.data.start.eq(address + jump),
            write.data.progress.eq(following),
            write.en.eq(advances),
        ]
        with m.If(advances):
            m.d.sync += fresh.eq(Mux(leaves, fresh | chosen, fresh & ~chosen))
        return Mux(begins, first, read.data.start), TILE_LEVELS + here.ends
