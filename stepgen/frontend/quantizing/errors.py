"""How far the values of a model of integers are from those of the model it was made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepgen.frontend.kind import Value
from stepgen.frontend.model import Model
from stepgen.frontend.quantizing.groups import keeps
from stepgen.frontend.weight import Array


@dataclass(frozen=True)
class Error:
    """Of a value in one layer, with all errors of what was computed before it.

    Attributes
    ----------
    name : str
    layer : tuple of int
        In each loop around it.
    value : Value
        Its type in the model of integers.
    cosine : float
        Of the angle between both.
    sqnr : float
        Signal to quantization noise ratio in decibels: 10 log10 of the sum of squares by that of
        the differences; infinite where there is none.
    """

    name: str
    layer: tuple[int, ...]
    value: Value
    cosine: float
    sqnr: float


def errors(exact: Model, made: Model, runs: Sequence[Mapping[str, Array]]) -> Iterator[Error]:
    """Errors of all values that an operation computes, over the inputs of runs."""
    sums: dict[Any, Array] = {}
    for inputs in runs:
        every: tuple[dict[Any, Array], dict[Any, Array]] = {}, {}
        for model, found in zip((exact, made), every, strict=True):
            model.run(inputs, every=found)
        for key, x in every[0].items():
            if key in every[1] and ":" not in key[0]:
                y = every[1][key]
                products = [(a * b).sum() for a, b in ((x, x), (y, y), (x, y), (x - y, x - y))]
                sums[key] = sums.get(key, 0) + np.array(products)
    computed = {p.op.name for p in made.placed if not keeps(p.op)}
    for (name, layer), (xx, yy, xy, noise) in sums.items():
        if name in computed:
            cosine = xy / np.sqrt(xx * yy) if xx and yy else float(xx == yy)
            sqnr = 10 * np.log10(xx / noise) if xx and noise else np.inf if xx else -np.inf
            yield Error(name, layer, made.types[name], float(cosine), float(sqnr))
