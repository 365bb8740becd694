"""Drawn streams, channels and stalls for the tests of units, and their common check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from amaranth.sim import Simulator
from harness import compare, decided, pack, simulate
from junk import Junk

from stepgen.fuzz.structure import Keeping, wanted
from stepgen.hw.accelerator import Accelerator
from stepgen.hw.design.table import Channel, Design
from stepgen.hw.units.accumulate.params import Accumulate
from stepgen.hw.units.as_selector.params import AsSelector
from stepgen.hw.units.eager_merge.params import EagerMerge
from stepgen.hw.units.reassemble.params import Reassemble
from stepgen.hw.units.running_max.params import RunningMax
from stepgen.hw.units.sink.params import Sink
from stepgen.hw.units.source.params import Source
from stepgen.hw.units.top_k.params import TopK
from stepgen.ir.stalls import Stalls
from stepgen.ir.wire import VALUE, Beats
from stepgen.semantics import numbers
from stepgen.semantics.tokens import encode
from stepgen.timing.activity import Activity
from stepgen.timing.design_layout import Run
from stepgen.timing.model import Prediction, predict
from stepgen.timing.states import BUSY, FULL, STARVED, STATES

LANES = 2
DEPTHS = (2, 2, 3, 4, 5, 9, 64, 65, 80)


def to_beats(nested: list, rank: int, dtype=np.int8) -> Beats:
    """Beats of lists nested ``rank + 1`` deep around the lanes of a beat."""
    tokens = encode(nested, rank)
    lanes = next((len(t.value) for t in tokens if t.kind == VALUE), LANES)
    blank = np.zeros(lanes, dtype)
    return Beats(
        np.array([t.kind for t in tokens], np.uint8),
        np.array([t.stop for t in tokens], np.uint8),
        np.array([t.low for t in tokens], np.uint8),
        np.array([t.value if t.kind == VALUE else blank for t in tokens], dtype),
    )


def blank_lanes(beats: Beats, lanes: int) -> Beats:
    """The same structure with `lanes` lanes of zeros: for a stream that has no values."""
    data = (
        beats.data
        if beats.data.shape[1] == lanes
        else np.zeros((len(beats), lanes), beats.data.dtype)
    )
    return Beats(beats.kind, beats.stop, beats.low, data)


class Draw:
    """A seeded source of structures."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)

    def one(self, options: Sequence):
        """One of the options."""
        return options[int(self.rng.integers(len(options)))]

    def beat(self) -> np.ndarray:
        """The lanes of one beat."""
        return self.rng.integers(-128, 128, LANES).astype(np.int8)

    def tile(self, rows: int, slices: int) -> list:
        """A tile on the wire: rows of slices."""
        return [[self.beat() for _ in range(slices)] for _ in range(rows)]

    def nested(self, dims: Sequence[Sequence[int]], leaf) -> list:
        """Lists whose extents are drawn from `dims`, outermost first, each for itself (ragged)."""
        if not dims:
            return leaf()
        return [self.nested(dims[1:], leaf) for _ in range(self.one(dims[0]))]

    def flags(self, n: int, share: float) -> np.ndarray:
        """Bits that are set with a probability."""
        return self.rng.random(n) < share

    def channel(self, name: str, rank: int | None, *, lanes=LANES, bits=8, delay=0) -> Channel:
        """A channel of drawn depth."""
        return Channel(name, lanes, bits, rank, depth=self.one(DEPTHS), delay=delay)

    def stalls(self, design: Design) -> Stalls:
        """Stalls of drawn shares at every port; none at all in one of three."""
        ports = [u.name for u in design.units if isinstance(u.params, (Source, Sink))]
        if self.one((True, False, False)):
            return Stalls()
        shares = {name: self.one((0.0, 0.2, 0.6)) for name in ports}
        return Stalls(int(self.rng.integers(1 << 30)), shares)


def sliced(matrix: np.ndarray, lanes: int) -> list:
    """A tile on the wire: rows of slices, the last one padded with numbers that would be seen."""
    junk = np.nan if matrix.dtype.kind != "i" else 77
    spare = ((0, 0), (0, -matrix.shape[1] % lanes))
    padded = np.pad(matrix, spare, constant_values=np.array(junk).astype(matrix.dtype))
    return [list(row.reshape(-1, lanes)) for row in padded]


def extent(draw: Draw, lanes: int, slices: tuple[int, ...]) -> int:
    """An extent of so many slices; in one of two cases the last one may be padded."""
    return lanes * draw.one(slices) - draw.one((0, draw.one(range(lanes))))


def floats(draw: Draw, shape: tuple[int, int]):
    """Of near or far exponents, many of them the same number, some zero, infinite or NaN."""
    spread = draw.one((0, 3, 30, 200))
    x = draw.rng.standard_normal(shape) * 2.0 ** draw.rng.integers(-spread, spread + 1, shape)
    x = np.where(draw.rng.random(shape) < 0.3, np.sign(x) * 1.25, x)
    some = draw.one((0, 0, 0, 0.02))
    special = draw.rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan], shape)
    x = np.where(draw.rng.random(shape) < 0.1, 0.0 * x, x)
    return numbers.as_element(np.where(draw.rng.random(shape) < some, special, x), "bf16")


def verify(
    design: Design,
    inputs: Mapping[str, Beats],
    expected: Mapping[str, Beats],
    stalls: Stalls,
    runs: int = 2,
) -> Prediction:
    """Compare several runs with the expected beats and one prediction.

    In half of the cases a soft reset aborts a run before them. The prediction's own beats have to
    have the expected levels too.
    """
    channel = design.channel
    widths = {
        u.name: channel[[*u.inputs.values(), *u.outputs.values()][0]].lanes
        for u in design.units
        if u.name != "dut"
    }
    inputs = {name: blank_lanes(b, widths[name]) for name, b in inputs.items()}
    known = decided(design, inputs, expected)
    predicted = predict(design, known, stalls=stalls)
    same_levels(predicted, expected, Run(known, stalls))
    explained_states(predicted)
    rng = np.random.default_rng([stalls.seed, predicted.cycles])
    aborts = rng.integers(predicted.cycles, size=rng.integers(2)).tolist()
    results = simulate(design, inputs, stalls, runs=runs, aborts=aborts)
    for got, pushes, pops, cycles, error in results if runs > 1 else [results]:
        assert not error
        for unit in design.of_kind(Sink):
            due = blank_lanes(expected[unit.name], widths[unit.name])
            compare(unit.name, channel[unit.inputs["x"]], got[unit.name], due)
        for name in channel:
            assert pushes[name] == predicted.pushes[name].tolist(), name
            assert pops[name] == predicted.pops[name].tolist(), name
        assert cycles == predicted.cycles
    return predicted


def same_levels(predicted: Prediction, expected: Mapping[str, Beats], run: Run) -> None:
    """Compare kinds and levels of what leaves in the cycle model with the expected beats."""
    most = max(map(len, predicted.pushes.values()))
    sent = Keeping(predicted.design, most=most).of_run(run).sent(predicted.cycles)
    for unit in predicted.design.of_kind(Sink):
        assert np.array_equal(sent[unit.inputs["x"]], wanted(expected[unit.name])), unit.name


def explained_states(predicted: Prediction) -> None:
    """Compare an actor's states with what moves at its unit's ports, where it is the only one.

    It is busy where something moves; it is full where an output has no room; what ends a wait for
    an input is a beat that gets to a head, and what ends one for room is a beat that leaves an
    output. Of the steps of Reassemble between chunks, and of the elements of TopK, nothing is seen
    at the ports, and AsSelector needs no room for the beats before the last one of a row.
    Accumulate also waits for sums of its own, at times for room and an input at once. A RunningMax
    that computes column after column is busy before a beat moves.
    """
    moves = predicted.pushes
    dut = next(unit for unit in predicted.design.units if unit.name == "dut")
    own = [activity for activity in predicted.activities if activity.unit == dut.name]
    if len(own) > 1:
        return
    (actor,) = own
    read, written = dut.inputs.values(), dut.outputs.values()
    states = np.repeat([STARVED, *(STATES[s] for s in actor.states)], _spans(predicted, actor))
    nowhere = np.zeros(predicted.cycles, bool)
    no_room = np.any([nowhere, *(_no_room(predicted, c) for c in written)], axis=0)
    assert no_room[states == FULL].all(), f"full in cycles {np.flatnonzero(states == FULL)}"
    if isinstance(dut.params, AsSelector | EagerMerge | Reassemble | TopK):
        return
    channel = predicted.design.channel
    begins = np.flatnonzero((states[1:] == BUSY) & (states[:-1] != BUSY)) + 1
    came = {*np.concatenate([moves[c] + channel[c].latency for c in read])}
    left = {*np.concatenate([np.array([], int), *(predicted.pops[c] + 1 for c in written)])}
    waits = isinstance(dut.params, Accumulate)
    for cycle in begins:
        before = states[cycle - 1]
        if waits and (before == FULL or not no_room[cycle - 1]):
            continue
        assert cycle in (came if before == STARVED else left), f"{before} before {cycle}"
    if not waits and not (isinstance(dut.params, RunningMax) and dut.params.columnwise):
        busy = {*np.concatenate([predicted.pops[c] for c in read] + [moves[c] for c in written])}
        assert {*np.flatnonzero(states == BUSY)} == busy


def _spans(predicted: Prediction, actor: Activity) -> np.ndarray:
    """Cycles from each change of an actor's state to the next."""
    return np.diff(np.concatenate([[0], actor.changes, [predicted.cycles]]))


def _no_room(predicted: Prediction, name: str) -> np.ndarray:
    """Whether a channel has no free slot, in each cycle."""
    cycles = np.arange(predicted.cycles)
    held = [np.searchsorted(m[name], cycles) for m in (predicted.pushes, predicted.pops)]
    return held[0] - held[1] >= predicted.design.channel[name].depth


def raises_error(design: Design, inputs: Mapping[str, Beats], limit: int = 500) -> bool:
    """Whether the unit under test raises its error flag within `limit` cycles."""
    dut = Accelerator(design)
    index = next(k for k, u in enumerate(design.units) if u.name == "dut")
    words = {
        u.name: pack(design.channel[u.outputs["y"]], inputs[u.name]) for u in design.of_kind(Source)
    }
    seen, junk = False, Junk()

    async def bench(ctx):
        nonlocal seen
        for u in design.of_kind(Sink):
            ctx.set(getattr(dut, u.name).ready, 1)
        ctx.set(dut.start, 1)
        await ctx.tick()
        ctx.set(dut.start, 0)
        for _ in range(limit):
            for name, left in words.items():
                port = getattr(dut, name)
                junk.idle(ctx, port)
                if left:
                    ctx.set(port.valid, 1)
                    ctx.set(port.payload.as_value(), left[0])
                    if ctx.get(port.ready):
                        left.pop(0)
            await ctx.tick()
            seen = bool(ctx.get(dut.error) >> index & 1)
            if seen:
                return

    sim = Simulator(junk.circuit(dut))
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.run()
    return seen
