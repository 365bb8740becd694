"""Seeds of drawn tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def some_slow(seeds: Iterable[Any], quick: int) -> list[Any]:
    """The first ones as they are, all others, or the last ones, for the slow tests alone."""
    seeds = [*seeds]
    return seeds[:quick] + [pytest.param(s, marks=pytest.mark.slow) for s in seeds[quick:]]
