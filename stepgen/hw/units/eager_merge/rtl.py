"""Merges chunks of several streams in order of arrival."""

from amaranth.hdl import Cat, Module, Mux, Signal

from stepgen.hw.onehot import select
from stepgen.hw.select import RoundRobin
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import DONE, VALUE


class EagerMergeCore(UnitCore):
    """Takes chunks from the inputs in turn, those that are there, never interleaved (EagerMerge).

    While a chunk moves, the next one is chosen among the other inputs, and its selector leaves; a
    unit without a chunk chooses one and moves its first beat in the same cycle. The chosen inputs
    (one-hot) are in registers.

    Parameters
    ----------
    unit.params : EagerMerge

    Notes
    -----
    One beat per cycle, across chunks as well, also if all come from one input. Latency 0 in
    addition to the FIFOs'. A prefix tree over the inputs for the choice, and an AND-OR tree of the
    payload's width; the depth of logic grows with the logarithm of their number.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        xs, y, names, count = self.inputs, self.y, self.names, len(self.inputs)
        current, after = Signal(count), Signal(count)  # whose chunk moves, and which comes next
        chosen, active = Signal(count), Signal(count)
        idle, moves, closes, ended = Signal(), Signal(), Signal(), Signal()
        there = [x.valid & (x.payload.kind != DONE) for x in xs]
        waiting = Cat(there)
        closing = Cat(x.payload.stop >= self.params.level for x in xs)

        m.submodules.turns = turns = RoundRobin(count)
        may_choose = ~after.any() & names.ready
        m.d.comb += [
            turns.asks.eq(waiting & ~current),
            chosen.eq(turns.grant & may_choose.replicate(count)),
            turns.taken.eq(chosen.any()),
            turns.restart.eq(~self.running),
            idle.eq(~current.any()),
            active.eq(Mux(idle, chosen, current)),
            moves.eq(y.ready & (active & waiting).any()),
            closes.eq(moves & (active & closing).any()),
            ended.eq(
                Cat(x.valid & (x.payload.kind == DONE) for x in xs).all()
                & y.ready
                & names.ready
                & idle
            ),
            y.valid.eq(moves | ended),
            names.valid.eq(chosen.any() | ended),
            names.payload.kind.eq(Mux(ended, DONE, VALUE)),
            names.payload.stop.eq(0),
            names.payload.data.eq(chosen),
        ]
        follower = after | Mux(idle, 0, chosen)
        m.d.sync += [
            current.eq(Mux(closes, follower, active)),
            after.eq(Mux(closes, 0, follower)),
        ]
        for x, bit, here in zip(xs, active, there, strict=True):
            m.d.comb += x.ready.eq(ended | y.ready & bit & here)

        def merged(field):
            return select(active, [x.payload[field] for x in xs])

        m.d.comb += [
            y.payload.kind.eq(Mux(ended, DONE, merged("kind"))),
            y.payload.stop.eq(merged("stop")),
            y.payload.data.eq(merged("data")),
        ]
        return m
