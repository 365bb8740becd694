"""Seeds of drawn tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def some_slow(seeds: Iterable[Any], quick: int) -> list[Any]:
    """The first ones as they are, all others, or the last ones, for the slow tests alone."""
    seeds = [*seeds]
    return seeds[:quick] + [slow(s) for s in seeds[quick:]]


def slow(values: Any) -> Any:
    """One seed, or the values of one case, for the slow tests alone."""
    values = values if isinstance(values, tuple) else (values,)
    return pytest.param(*values, marks=pytest.mark.slow)
