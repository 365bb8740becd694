"""A model in groups whose memories fit on chip: what they compute, and what they move."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepgen as sg
from frontend.gpt2 import CHUNK, WIDTH, small
from stepgen.compile.cost import unit_bits
from stepgen.compile.lower import lower
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment
from stepgen.frontend.fusing import Fused, fused
from stepgen.frontend.lowering import fed, lowered, sizes_of
from stepgen.program import models
from stepgen.semantics.executor import run

SETTINGS: dict[str, Any] = {**CHUNK, "tile_rows": 4, "tile_cols": 4}


@pytest.fixture(scope="module")
def given() -> Callable[[str], tuple[sg.frontend.Model, Experiment]]:
    """A part of a layer, and its program without groups."""
    model = small()

    def part(name: str) -> tuple[sg.frontend.Model, Experiment]:
        block = sg.frontend.block(model, name)
        whole = lowered(block, **SETTINGS)
        sizes = sizes_of(block, "prefill", 2, 8, 2)
        x = np.random.default_rng(0).normal(size=(2, WIDTH)).astype(np.float32)
        inputs = fed(block, {name: x for name in block.inputs}, sizes, 0)
        return block, Experiment(whole.graph, whole.weights | inputs)

    return part


def moved(fusion: Fused, whole: Experiment) -> int:
    """Bytes on the bus beyond those without groups; what is computed is the same."""
    (output,) = whole.graph.outputs
    total, found = 0, []
    for number, group in enumerate(fusion.groups):
        inputs = fusion.inputs(number, whole.inputs)
        total += sum(Experiment(group.graph, inputs).traffic)
        if output in group.graph.outputs:
            found.append(np.array(run(group.graph, inputs, lanes=4).nested(output)))
    want = np.array(run(whole.graph, whole.inputs, lanes=4).nested(output))
    assert len(found) == 1
    assert np.array_equal(found[0], want)
    return total - sum(whole.traffic)


def test_traffic_by_formula_is_that_of_the_bus(given: Any) -> None:
    block, whole = given("mlp")
    every = fused(block, 1_000_000, **SETTINGS)
    most, both = max(every.kernels.values()), sum(every.kernels.values())
    assert [len(every.groups), every.grouping.traffic] == [1, 0]
    seen = {}
    for budget in (both, both - 1, most):
        fusion = fused(block, budget, **SETTINGS)
        assert max(fusion.grouping.memory) <= budget
        for group in fusion.groups:
            design = lower(group.graph)
            assert sum(unit_bits(u, design) for u in design.units) <= 1.05 * group.memory + 200
        assert fusion.grouping.traffic == moved(fusion, whole)
        seen[budget] = len(fusion.groups)
    assert [*seen.values()] == sorted(seen.values())
    assert seen[both] == 1 < seen[both - 1]
    assert len(fusion.inside) + len(fusion.groups) - 1 >= 2


def test_what_does_not_fit_alone(given: Any) -> None:
    block, _ = given("mlp")
    most = max(fused(block, 1_000_000, **SETTINGS).kernels.items(), key=lambda one: one[1])
    message = f"{most[0]} alone takes {most[1]:,} bits on chip, more than the {most[1] - 1:,} of"
    with pytest.raises(sg.StepError, match=message):
        fused(block, most[1] - 1, **SETTINGS)
    with pytest.raises(sg.StepError, match="one tile of tokens, so phase must be decode or pref"):
        fused(block, 1_000_000)


def test_a_group_by_its_number(given: Any) -> None:
    block, whole = given("mlp")
    budget = sum(fused(block, 1_000_000, **SETTINGS).kernels.values()) - 1
    settings = {name: str(n) for name, n in SETTINGS.items()} | {"onchip_bits": str(budget)}
    keywords: dict[str, Any] = {"inputs": None, "seed": 0, "dims": {}, "draw": True}
    with pytest.raises(sg.StepError, match=r"block has 2 groups under .*: group=0 to group=1 name"):
        models.lowered(block, "block", settings, tensors=True, **keywords)
    with pytest.raises(sg.StepError, match="block has groups 0 to 1, so group can't be 2"):
        models.lowered(block, "block", settings | {"group": "2"}, tensors=True, **keywords)
    made = models.lowered(block, "block", settings | {"group": "1"}, tensors=True, **keywords)
    between = [name for name in made.graph.tensors if name.endswith("between")]
    assert len(between) == 1
    assert np.any(made.given[between[0]])
    assert [*made.graph.outputs] == [*whole.graph.outputs]


@pytest.mark.slow
def test_a_layer_under_three_budgets(given: Any) -> None:
    block, whole = given("h")
    every = fused(block, 1_000_000, **SETTINGS).kernels
    seen = []
    for budget in (sum(every.values()), max(every.values()) * 3 // 2, max(every.values())):
        fusion = fused(block, budget, **SETTINGS)
        assert fusion.grouping.traffic == moved(fusion, whole) <= fusion.published.traffic
        seen.append(len(fusion.groups))
    assert seen[0] == 1 < seen[1] < seen[2]


@pytest.mark.slow
def test_a_group_as_a_circuit(given: Any, tmp_path: Path) -> None:
    block, whole = given("mlp")
    budget = sum(fused(block, 1_000_000, **SETTINGS).kernels.values()) - 1
    fusion = fused(block, budget, **SETTINGS)
    last = len(fusion.groups) - 1
    one = Experiment(fusion.groups[last].graph, fusion.inputs(last, whole.inputs))
    verdict = one.test(tmp_path, driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults
