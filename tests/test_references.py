"""References that are forked, routed and merged, in memories of all kinds."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from test_conformance import conform

import stepgen as sg
from stepgen.compile import lower as lowering
from stepgen.compile.lower import lower
from stepgen.compile.memories import Stored
from stepgen.fuzz.generators.plain import draw
from stepgen.hw.units.pmu.model import S
from stepgen.hw.units.pmu.params import Pmu
from stepgen.ir.stalls import Stalls
from stepgen.semantics.beats import to_beats
from stepgen.semantics.inputs import to_tokens
from stepgen.timing import kernel as k
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.drive import drive

STEPS = ("travelled", "travelled", "flatten", "stored", "requantize", "promote")


def reused(rows):
    """Rows whose memories are used again, where a design with these exists."""
    first = rows(Stored())
    names = frozenset(first.stored.kept)
    try:
        rows(Stored(names)).design({})
    except sg.StepError:
        return first
    return rows(Stored(names))


def programs(seeds):
    """Drawn programs with references that travel."""
    for seed in seeds:
        program, steps, _ = draw(seed, 2, names=STEPS)
        if "travelled" in steps:
            yield seed, program


@pytest.mark.parametrize("block", range(8))
def test_reference_model_and_circuit_agree(block, monkeypatch):
    if block % 4:
        monkeypatch.setattr(lowering, "lowered", reused)
    for seed, program in programs(range(5 * block, 5 * block + 5)):
        conform(seed, program.graph, program.inputs)


def run(program, seed: int) -> tuple[DesignLayout, np.ndarray]:
    """The state of the cycle model after a run with stalls."""
    graph = program.graph
    design = lower(graph, lanes=2)
    beats = {
        n.name: to_beats(
            to_tokens(program.inputs[n.name], n.outputs[0].type, n.name), n.outputs[0].type, 2
        )
        for n in graph.nodes
        if n.op == "source"
    }
    rng = np.random.default_rng(seed)
    shares = {name: float(rng.choice([0, 0.3, 0.8])) for name in (*beats, *graph.outputs)}
    layout = DesignLayout(design, beats, Stalls(seed, shares))
    return layout, drive(layout, limit=1_000_000).M


def test_each_page_is_free_exactly_once(monkeypatch):
    monkeypatch.setattr(lowering, "lowered", reused)
    kinds: Counter[str] = Counter()
    for seed, program in programs(range(300)):
        layout, M = run(program, seed)
        names = {name: address for address, name in layout.names.items()}
        for unit, params in layout.design.rows_of(Pmu):
            if not params.shares:
                continue
            (store,) = (
                a.address for a in layout.actors if (a.unit, a.name) == (unit.name, "store")
            )
            free, fresh = names[f"{unit.name}.free"], M[store + S.fresh]
            beats = range(M[free + k.POPPED], M[free + k.PUSHED])
            there = [int(M[_slot(M, free, n)]) for n in beats]
            kinds["counted" if params.counts else "once"] += 1
            kinds["again"] += M[free + k.POPPED] > 0
            kinds["given back"] += params.rests > 0
            assert sorted(there) == list(range(fresh)), (seed, unit.name)
    assert min(kinds["counted"], kinds["once"], kinds["again"], kinds["given back"]) > 10, kinds


def _slot(M: np.ndarray, c: int, n: int) -> int:
    return M[c + k.RING] + k.SLOT * (n & M[c + k.MASK]) + 2
