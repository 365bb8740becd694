"""Matrix-vector products of static and dynamic tiles: numbers, bytes and cycles over a sweep."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from programs import example

import stepgen as sg
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment, simulate
from stepgen.ir.stalls import MEMORY_CHANNELS, Stalls
from stepgen.semantics.executor import run

SWEEP = (0, 1, 6, 16)
"""Of 16 vectors, how many are selected."""


@pytest.mark.parametrize("tile", [1, 3, None], ids=["alone", "static", "dynamic"])
@pytest.mark.parametrize("element", ["int8", "bf16"])
def test_the_selected_vectors_are_multiplied(element: str, tile: int | None) -> None:
    tiling = {"tiling": "static", "tile": tile} if tile else {"tiling": "dynamic"}
    for selected in SWEEP:
        graph, inputs = example("matvec").matvec(selected=selected, element=element, **tiling)
        result = run(graph, inputs)
        vectors = inputs["x"][inputs["gate"][:, 0]].astype(np.float64)
        np.testing.assert_allclose(result.tensors["y"][:selected], vectors @ inputs["w"], rtol=1e-4)
        groups = -(-selected // tile) if tile else min(selected, 1)
        size = graph.tensors["w"].bytes
        moved = sum(Experiment(graph, inputs).traffic)
        assert moved == groups * size + graph.tensors["x"].bytes + selected * 4 * 64


@pytest.mark.slow
@pytest.mark.parametrize("tiling", ["static", "dynamic"])
def test_one_circuit_for_the_sweep(tmp_path: Path, tiling: str) -> None:
    runs = []
    for seed, selected in enumerate(SWEEP):
        program = example("matvec").matvec(selected=selected, tiling=tiling, seed=seed)
        stalls = Stalls(seed, dict.fromkeys((*MEMORY_CHANNELS, "gate"), seed / 10))
        runs.append(Experiment(*program, stalls=stalls))
    for verdict in simulate(runs, tmp_path, driver="cpp", opt=LEAST_BUILD):
        assert verdict.good, verdict.outcome.faults


def test_settings_that_do_not_fit() -> None:
    with pytest.raises(sg.StepError, match="matvec can select 0 to 16 vectors, not 17"):
        example("matvec").matvec(selected=17)
    with pytest.raises(sg.StepError, match='needs tiling "static" or "dynamic", not \'both\''):
        example("matvec").matvec(tiling="both")
    with pytest.raises(sg.StepError, match="matvec works on int8 or bf16, not on f32"):
        example("matvec").matvec(element="f32")
