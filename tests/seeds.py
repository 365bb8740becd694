"""Seeds of drawn tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def some_slow(seeds: Iterable[int], quick: int) -> list[Any]:
    """The first ones as they are, all others for the slow tests alone."""
    return [
        seed if place < quick else pytest.param(seed, marks=pytest.mark.slow)
        for place, seed in enumerate(seeds)
    ]
