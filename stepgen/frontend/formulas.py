"""Functions of single numbers by what they make of random ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stepgen.frontend.weight import Array
from stepgen.functions.bases import Binary, Unary
from stepgen.ir.fn import fn
from stepgen.ir.function import Function, function_types

CLOSE = 1e-5
"""Largest difference of numbers that are the same, as a part of the largest."""


def close(a: Array, b: Array) -> bool:
    """Whether arrays are the same up to rounding of f32."""
    if a.shape != b.shape:
        return False
    with np.errstate(invalid="ignore"):
        fits = np.abs(a - b) <= CLOSE * max(1.0, float(np.nanmax(np.abs(b), initial=0.0)))
    return bool((fits | (np.isnan(a) & np.isnan(b))).all())


def chains() -> Iterator[tuple[Function, ...]]:
    """Functions of one number that models apply, and some behind each other."""
    for kind in function_types().values():
        own = kind.__dataclass_fields__.keys() - Function.__dataclass_fields__.keys()
        if issubclass(kind, Unary) and "exact" in vars(kind) and not own:
            yield (kind(),)
    yield (fn.at_least(0),)
    yield fn.at_least(0), fn.at_most(6)
    yield fn.at_least(-1), fn.at_most(1)
    yield fn.scale(-1), fn.exp(), fn.offset(1), fn.reciprocal()


def chain_for(x: Array, made: Array) -> tuple[Function, ...] | None:
    """The functions that make one array of another, number by number; none if it is the same."""
    if close(x, made):
        return ()
    for chain in chains():
        value = x
        with np.errstate(all="ignore"):
            for function in chain:
                assert isinstance(function, Unary)
                value = function.exact(value)
        if close(value, made):
            return chain
    return None


def pair_for(a: Array, b: Array, made: Array) -> Function | None:
    """The function that makes an array of two others, pair by pair."""
    for kind in function_types().values():
        own = kind.__dataclass_fields__.keys() - Function.__dataclass_fields__.keys()
        if issubclass(kind, Binary) and "exact" in vars(kind) and not own:
            function = kind()
            if close(function.exact(a, b), made):
                return function
    return None


def with_constant(x: Array, made: Array, c: float) -> tuple[Function, ...] | None:
    """The function that makes one array of another and a constant."""
    tries = [fn.scale(c), fn.offset(c), fn.offset(-c), fn.at_least(c), fn.at_most(c)]
    tries += [fn.scale(1 / c)] if c else []
    for function in tries:
        if close(function.exact(x), made):  # type: ignore[attr-defined]
            return (function,)
    return None
