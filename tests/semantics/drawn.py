"""Drawn inputs that the semantics tests share: nested lists with empty groups, and tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from stepgen.semantics import numbers

Nested = list[Any]


def nested(rank: int, leaf: st.SearchStrategy[Any], longest: int = 3) -> st.SearchStrategy[Nested]:
    """Lists nested ``rank + 1`` deep, every one possibly empty."""
    strategy: st.SearchStrategy[Any] = leaf
    for _ in range(rank + 1):
        strategy = st.lists(strategy, max_size=longest)
    return strategy


def shaped(rng: np.random.Generator, dims: list[Any], leaf: Callable[[], Any]) -> Any:
    """Nested lists with the given extents, outermost first; a callable extent is drawn anew."""
    if not dims:
        return leaf()
    extent = dims[0]() if callable(dims[0]) else dims[0]
    return [shaped(rng, dims[1:], leaf) for _ in range(extent)]


def tile(rng: np.random.Generator, rows: int, cols: int, element: str = "int8") -> Any:
    """A tile of numbers that are small enough for sums to be exact in every format."""
    return numbers.as_element(rng.integers(-9, 10, (rows, cols)), element)


def floats(rng: np.random.Generator, shape: tuple[int, ...], element: str) -> Any:
    """Floats over the whole range: every class of number is drawn."""
    bits = rng.integers(0, 1 << 32, shape, dtype=np.uint64).astype(np.uint32)
    x = bits.view(np.float32).copy()
    near = rng.random(shape) < 0.5
    x[near] = rng.standard_normal(shape).astype(np.float32)[near]
    for number in (0.0, -0.0, np.inf, -np.inf, np.nan, 2.0**-126, 2.0**-130):
        x[rng.random(shape) < 0.02] = number
    return numbers.as_element(x, element) if element == "bf16" else x


def plain(values: Any) -> Any:
    """Nested lists with arrays turned into lists, for comparison with ``==``."""
    if isinstance(values, np.ndarray):
        return values.tolist()
    if isinstance(values, list | tuple):
        return [plain(v) for v in values]
    return values
