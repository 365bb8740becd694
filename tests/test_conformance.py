"""The faces of the operators against each other, on drawn programs."""

from collections import Counter

import numpy as np
import pytest
from drawing import LANES, STEPS, draw
from harness import check

from stepgen.compile.lower import lower
from stepgen.ir.stalls import Stalls
from stepgen.semantics import executor
from stepgen.semantics.beats import to_beats
from stepgen.semantics.inputs import to_tokens
from stepgen.timing.model import predict

PROGRAMS = 60


def conform(seed: int) -> list[str]:
    """Draw a program, and hold its reference, model and circuit against each other."""
    program, steps, _ = draw(seed)
    graph, rng = program.graph, np.random.default_rng(seed)
    design = lower(graph, lanes=LANES)
    depths = {
        c.name: c.depth + int(rng.choice([0, 0, 1, 5, 70]))
        for c in design.channels
        if rng.random() < 0.5
    }
    design = design.with_depths(depths)
    sources = [n for n in graph.nodes if n.op == "source"]
    beats = {
        n.name: to_beats(
            to_tokens(program.inputs[n.name], n.outputs[0].type, n.name), n.outputs[0].type, LANES
        )
        for n in sources
    }
    ports = [u.name for kind in ("source", "sink") for u in design.of_kind(kind)]
    stalls = Stalls(seed, {name: float(rng.choice([0, 0, 0.3, 0.7])) for name in ports})
    early = [n.name for n in sources if rng.random() < 0.5]
    predicted = predict(design, beats, stalls=stalls, early=early)
    choices, abort = predicted.choices, int(rng.integers(predicted.cycles))
    arrivals = {u.name for u in design.of_kind("reassemble") if u.params["order"] == "arrival"}
    reference = executor.run(
        graph,
        program.inputs,
        lanes=LANES,
        choices={name: choices.get(name, []) for name in arrivals},
    )
    sinks = [u.name for u in design.of_kind("sink")]
    expected = {name: reference.beats(name, LANES) for name in sinks}
    check(design, beats, expected, stalls, early=early, aborts=[abort])
    return steps


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_reference_model_and_circuit_agree(seed):
    conform(seed)


def test_every_step_is_drawn():
    drawn = Counter(step for seed in range(PROGRAMS) for step in draw(seed)[1])
    assert not set(STEPS) - drawn.keys()
