"""The circuits that a benchmark measures for an hour can be made."""

from __future__ import annotations

import pytest

from benchmarks.resources import CASES, Case
from stepgen.hw.private import elaborated


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_circuits_whose_resources_are_measured(case: Case) -> None:
    elaborated(case.made())
