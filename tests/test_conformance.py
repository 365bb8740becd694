"""Reference, cycle model and circuit agree on drawn programs."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from harness import check
from seeds import some_slow

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.fuzz.generators import loops, regions
from stepgen.fuzz.generators.drawing import NARROW, some_lanes
from stepgen.fuzz.generators.plain import STEPS, draw
from stepgen.hw.units.sink.params import Sink
from stepgen.hw.units.source.params import Source
from stepgen.ir.graph import Graph
from stepgen.ir.stalls import Stalls
from stepgen.ir.stream import Stream
from stepgen.semantics import executor
from stepgen.semantics.beats import to_beats
from stepgen.semantics.inputs import to_tokens
from stepgen.timing.model import predict

LONG = 5
"""Its run is several times as long as any other of the quick ones."""
SEEDS = (117, *(seed for seed in range(71) if seed != LONG), LONG)
"""Of programs that together have every step."""
LOOPS = 16
REGIONS = 8


def conform(seed: int, graph: Graph, inputs: Mapping[str, Any]) -> None:
    """Compare reference, cycle model and circuit of a program."""
    rng = np.random.default_rng(seed)
    lanes = NARROW if seed % 2 else some_lanes(graph, NARROW, rng)
    design = lower(graph, lanes=lanes, fuse=seed % 3 > 0)
    depths = {
        c.name: c.depth + int(rng.choice([0, 0, 1, 5, 70]))
        for c in design.channels
        if rng.random() < 0.5
    }
    design = design.with_depths(depths)
    sources = [n for n in graph.nodes if n.op == "source"]
    beats = {
        n.name: to_beats(
            to_tokens(inputs[n.name], n.outputs[0].type, n.name),
            n.outputs[0].type,
            design.lanes_at(n.name),
            padding=rng,
        )
        for n in sources
    }
    ports = [u.name for kind in (Source, Sink) for u in design.of_kind(kind)]
    stalls = Stalls(seed, {name: float(rng.choice([0, 0, 0.3, 0.7])) for name in ports})
    early = [n.name for n in sources if rng.random() < 0.5]
    predicted = predict(design, beats, stalls=stalls, early=early)
    choices, abort = predicted.choices, int(rng.integers(predicted.cycles))
    arrivals = {u.name for u in design.units if u.params.by_arrival}
    reference = executor.run(
        graph,
        inputs,
        lanes=lanes,
        choices={name: choices.get(name, []) for name in arrivals},
    )
    sinks = [u.name for u in design.of_kind(Sink)]
    expected = {name: reference.beats(name, design.lanes_at(name)) for name in sinks}
    check(design, beats, expected, stalls, early=early, aborts=[abort])


@pytest.mark.parametrize("seed", some_slow(SEEDS, 24))
def test_reference_model_and_circuit_agree(seed):
    program, _, _ = draw(seed)
    conform(seed, program.graph, program.inputs)


def around(x: Stream) -> Stream:
    """A longer way round the loop."""
    return x.promote(0).accum(sg.fn.retile_row(), rank=1).promote(0).flatten(0, 1)


@pytest.mark.parametrize("seed", some_slow(range(LOOPS), 8))
def test_loops_agree_and_end(seed):
    turns = loops.drawn(seed)
    conform(seed, *loops.loop(turns, around if seed % 2 else None))


@pytest.mark.parametrize("seed", some_slow(range(REGIONS), 4))
def test_requests_to_the_region_that_is_free_agree_and_end(seed):
    conform(seed, *regions.drawn(seed, memory=False))


def test_drawn_loops_go_round_and_end_with_selectors_left():
    drawn = [loops.drawn(seed) for seed in range(LOOPS)]
    assert any(t.surplus for t in drawn)
    assert any(not t.chunks for t in drawn)
    assert {t.ways is None for t in drawn if t.chunks} == {True, False}
    assert max(sum(bits[1] for bits in t.entering) for t in drawn) > 10


@pytest.mark.slow
def test_every_step_is_drawn():
    drawn = Counter(step for seed in SEEDS for step in draw(seed)[1])
    assert not set(STEPS) - drawn.keys()
