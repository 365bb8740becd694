"""Seeds of drawn tests."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import product
from typing import Any

import pytest


def some_slow(seeds: Iterable[Any], quick: int) -> list[Any]:
    """The first ones as they are, all others, or the last ones, for the slow tests alone."""
    seeds = [*seeds]
    return seeds[:quick] + [slow(s) for s in seeds[quick:]]


def one_seed_each(seeds: Iterable[Any], *choices: Iterable[Any]) -> list[Any]:
    """All seeds with all choices: quick tests take one seed a choice, and the seeds in turn."""
    seeds, cases = [*seeds], [*product(*choices)]
    quick = {(number % len(seeds), number) for number in range(len(cases))}
    return [
        (seed, *case) if (at, number) in quick else slow((seed, *case))
        for at, seed in enumerate(seeds)
        for number, case in enumerate(cases)
    ]


def others_slow(cases: Iterable[Any], quick: Collection[Any]) -> list[Any]:
    """All cases; those that are not among the quick ones for the slow tests alone."""
    return [case if case in quick else slow(case) for case in cases]


def slow(values: Any) -> Any:
    """One seed, or the values of one case, for the slow tests alone."""
    values = values if isinstance(values, tuple) else (values,)
    return pytest.param(*values, marks=pytest.mark.slow)
