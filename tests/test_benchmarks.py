"""The circuits that a benchmark measures for an hour can be made."""

from __future__ import annotations

import pytest

from benchmarks import language_units
from benchmarks.resources import CASES, Case
from stepgen.hw.private import elaborated
from stepgen.hw.unit import core_of


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_circuits_whose_resources_are_measured(case: Case) -> None:
    elaborated(case.made())


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=[pytest.mark.slow] * ("f32" in case.name))
        for case in language_units.CASES
    ],
)
def test_units_of_language_models(case: language_units.Case) -> None:
    elaborated(core_of(*case.unit()))
    assert case.alone().units
