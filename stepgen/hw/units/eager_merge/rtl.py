"""Merges chunks of several streams in order of arrival."""

from amaranth.hdl import Cat, Module, Mux, Signal

from stepgen.hw.onehot import select
from stepgen.hw.select import RoundRobin
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import DONE, VALUE


class EagerMergeCore(UnitCore):
    """Takes chunks from the inputs in turn, those that are there, never interleaved (EagerMerge).

    While a chunk moves, the next one is chosen among the other inputs, and its selector leaves. The
    choice is a register (one-hot), so that the payload does not wait for it. Without a choice the
    unit stays at the input that it took last: a chunk of that one moves at once, one of another
    input is chosen first.

    Parameters
    ----------
    unit.params : EagerMerge

    Notes
    -----
    One beat per cycle, across chunks as well, also if all come from one input. Latency 0 in
    addition to the FIFOs', 1 for a chunk that nothing was chosen for while the one before moved.
    A prefix tree over the inputs for the choice, and an AND-OR tree of the payload's width; the
    depth of logic grows with the logarithm of their number.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        xs, y, names, count = self.inputs, self.y, self.names, len(self.inputs)
        current, named = Signal(count, init=1), Signal()  # whose chunk moves; its selector has left
        after = Signal(count)  # whose chunk comes next: its selector has left
        present, moves, closes, free, ended = (Signal() for _ in range(5))
        there = Cat(x.valid & (x.payload.kind != DONE) for x in xs)
        closing = Cat(x.payload.stop >= self.params.level for x in xs)
        here = current & there
        room = y.ready & (named | names.ready)

        m.submodules.turns = turns = RoundRobin(count)
        chosen, chooses, names_next = after.any(), Signal(), Signal()
        m.d.comb += [
            turns.asks.eq(there & ~current),
            chooses.eq(turns.asks.any() & ~chosen),
            names_next.eq(chooses & named),
            turns.taken.eq(chooses & (free | named & names.ready)),
            turns.restart.eq(~self.running),
            present.eq(here.any()),
            moves.eq(present & room),
            closes.eq(room & (here & closing).any()),
            free.eq(closes | ~named & ~present),
            ended.eq(
                Cat(x.valid & (x.payload.kind == DONE) for x in xs).all() & y.ready & names.ready
            ),
            y.valid.eq(moves | ended),
            names.valid.eq(present & ~named | names_next | ended),
            names.payload.kind.eq(Mux(ended, DONE, VALUE)),
            names.payload.stop.eq(0),
            names.payload.data.eq(Mux(named, turns.grant, here)),
        ]
        with m.If(free):
            m.d.sync += [named.eq(chosen | names_next & names.ready), after.eq(0)]
            with m.If(chosen | chooses):
                m.d.sync += current.eq(Mux(chosen, after, turns.grant))
        with m.Elif(names.ready):
            m.d.sync += named.eq(named | present)
            with m.If(names_next):
                m.d.sync += after.eq(turns.grant)
        with m.If(~self.running):
            m.d.sync += current.eq(1)
        for x, bit in zip(xs, here, strict=True):
            m.d.comb += x.ready.eq(ended | room & bit)

        def merged(field):
            return select(current, [x.payload[field] for x in xs])

        m.d.comb += [
            y.payload.kind.eq(Mux(ended, DONE, merged("kind"))),
            y.payload.stop.eq(merged("stop")),
            y.payload.data.eq(merged("data")),
        ]
        return m
