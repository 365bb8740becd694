"""The hand-written circuits of the benchmarks send what the reference computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator
from seeds import slow

from benchmarks.other_circuits import expert, matrix
from benchmarks.others.hand_written import Expert, Matrix
from stepgen.cosim.experiment import Experiment
from stepgen.ir.wire import VALUE, Beats
from stepgen.semantics.beats import to_beats

Words = list[tuple[int, tuple[int, ...]]]
TILES, SHIFT = 2, 7


def words(beats: Beats) -> Words:
    """Stops and numbers of the beats that have numbers."""
    rows = zip(beats.kind, beats.stop, beats.data, strict=True)
    return [(int(stop), tuple(data.tolist())) for kind, stop, data in rows if kind == VALUE]


def drawn(
    kind: str, lanes: int, size: int, rows: list[int], rng: np.random.Generator
) -> tuple[Any, dict[str, Words], Words]:
    """A circuit, what it gets and what it has to send, for tiles of so many rows."""
    x = [rng.integers(-128, 128, (count, size), dtype=np.int8) for count in rows]
    w = rng.integers(-128, 128, (len(rows), TILES, size, size), dtype=np.int8)
    if kind == "matrix":
        circuit, graph, w = Matrix(lanes, size, size), matrix(size, size), w[:, 0]
    else:
        most = 1 << (max(rows) - 1).bit_length()
        circuit = Expert(lanes, size, size, most, TILES, SHIFT)
        graph = expert(size, size, rows=most, tiles=TILES, shift=SHIFT)
    experiment = Experiment(graph, {"x": x, "w": w}, lanes=lanes)
    made = experiment.reference
    y = to_beats(made.streams["y"], made.types["y"], lanes)
    return circuit, {name: words(beats) for name, beats in experiment.beats.items()}, words(y)


def sent(
    circuit: Any, inputs: dict[str, Words], count: int, offered: float, taken: float
) -> tuple[Words, list[int]]:
    """Beats of y and their cycles; ports offer and take in such a share of cycles."""
    rng, found, cycles = np.random.default_rng(0), [], []

    def source(port, beats):
        async def bench(ctx):
            for stop, numbers in beats:
                while rng.random() >= offered:
                    await ctx.tick()
                ctx.set(port.payload.stop, stop)
                ctx.set(port.payload.data, list(numbers))
                ctx.set(port.valid, 1)
                await ctx.tick().until(port.ready)
                ctx.set(port.valid, 0)

        return bench

    async def sink(ctx):
        cycle = 0
        while len(found) < count and cycle < 100_000:
            cycle += 1
            takes = bool(rng.random() < taken)
            ctx.set(circuit.y.ready, takes)
            if takes and ctx.get(circuit.y.valid):
                numbers = tuple(map(ctx.get, circuit.y.payload.data))
                found.append((ctx.get(circuit.y.payload.stop), numbers))
                cycles.append(cycle)
            await ctx.tick()

    simulator = Simulator(circuit)
    simulator.add_clock(1e-6)
    for name, beats in inputs.items():
        simulator.add_testbench(source(getattr(circuit, name), beats), background=True)
    simulator.add_testbench(sink)
    simulator.run()
    return found, cycles


@pytest.mark.parametrize(
    ("lanes", "size", "rows"), [(2, 8, [3, 1, 4, 2]), slow((4, 64, [2, 3])), slow((8, 64, [9, 1]))]
)
@pytest.mark.parametrize("kind", ["matrix", "expert"])
def test_stalls_change_no_beat(kind: str, lanes: int, size: int, rows: list[int]) -> None:
    circuit, inputs, y = drawn(kind, lanes, size, rows, np.random.default_rng(size))
    assert sent(circuit, inputs, len(y), offered=0.6, taken=0.2)[0] == y


@pytest.mark.parametrize("kind", ["matrix", "expert"])
def test_steps_in_every_cycle(kind: str) -> None:
    circuit, inputs, y = drawn(kind, 2, 8, [4], np.random.default_rng(1))
    found, cycles = sent(circuit, inputs, len(y), offered=1, taken=1)
    assert found == y
    assert set(np.diff(cycles)) == {8 // 2}
