"""References that are forked, routed and merged, in memories of all kinds."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from seeds import others_slow
from test_conformance import conform

import stepgen as sg
from stepgen.compile import allocation
from stepgen.compile.lower import lower
from stepgen.compile.memories import Stored
from stepgen.cosim.experiment import Experiment
from stepgen.fuzz.generators.plain import draw
from stepgen.hw.design.table import DesignError
from stepgen.hw.units.pmu.model import S
from stepgen.hw.units.pmu.params import Pmu
from stepgen.ir.stalls import Stalls
from stepgen.semantics.beats import to_beats
from stepgen.semantics.inputs import to_tokens
from stepgen.timing import kernel as k
from stepgen.timing.design_layout import DesignLayout, Run
from stepgen.timing.drive import drive

STEPS = ("travelled", "travelled", "flatten", "stored", "requantize", "promote")


def reused(rows, depths, *, fuse, lean=(), paced=True):
    """The design whose memories are used again, where there is one."""
    names = frozenset(rows(Stored((), lean, paced)).stored.kept)
    try:
        rows(Stored(names, lean, paced)).design({})
    except DesignError:
        raise
    except sg.StepError:
        names = frozenset()
    last = rows(Stored(names, lean, paced))
    return last.graph, last.stored, last.design(depths, fuse=fuse)


def programs(seeds):
    """Drawn programs with references that travel."""
    for seed in seeds:
        program, steps, _ = draw(seed, 2, names=STEPS)
        if "travelled" in steps:
            yield seed, program


@pytest.mark.parametrize("block", others_slow(range(8), (0, 2, 5)))
def test_reference_model_and_circuit_agree(block, monkeypatch):
    if block % 4:
        monkeypatch.setattr(allocation, "designed", reused)
    for seed, program in programs(range(5 * block, 5 * block + 5)):
        if len(program.graph.nodes) > 30:
            continue  # minutes in Amaranth's simulator; the fuzzer compiles such ones
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
    layout = DesignLayout(design).of_run(Run(beats, Stalls(seed, shares)))
    return layout, drive(layout, limit=1_000_000).M


@pytest.mark.slow
def test_each_page_is_free_exactly_once(monkeypatch):
    monkeypatch.setattr(allocation, "designed", reused)
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


def many() -> tuple[sg.Graph, dict]:
    """Far more chunks than there is memory for, some of which nobody reads."""
    g, rng = sg.Graph("many"), np.random.default_rng(1)
    x = g.input("x", sg.int8[2, 8], (300, sg.ragged("D", bound=5)))
    sel = g.input("sel", sg.Selector(3), (300,))
    for n, part in enumerate(sg.partition(x.bufferize(rank=1), sel, rank=0)):
        g.output(part.streamify(count=1 + n // 2), f"y{n}")
    tiles = [[np.full((2, 8), n % 100, np.int8)] * int(rng.integers(6)) for n in range(300)]
    return g, {"x": [list(group) for group in tiles], "sel": rng.random((300, 3)) < 0.5}


@pytest.mark.parametrize("seed", range(12))
def test_a_run_lasts_until_all_is_read_and_all_pages_are_free(seed):
    graph, inputs = many()
    stalls = Stalls(seed, dict.fromkeys([*graph.inputs, *graph.outputs], 0.3))
    experiment = Experiment(graph, inputs, lanes=4, stalls=stalls)
    ((_, params),) = experiment.design.rows_of(Pmu)
    assert params.counts
    pushes = experiment.prediction.pushes
    for n in range(3):
        expected = len(experiment.reference.beats(f"y{n}", 4))
        assert len(pushes[f"streamify_{n}"]) == expected
