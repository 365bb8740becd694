"""Random inputs of a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepgen.frontend.kinds.embedding import Embedding
from stepgen.frontend.model import Model
from stepgen.frontend.run import POSITIONS
from stepgen.frontend.weight import Array

FEW = 8
"""Tokens of a run whose inputs are drawn."""


def drawn(
    model: Model, given: dict[str, Any], seed: int = 0, tokens: int | None = None
) -> dict[str, Array]:
    """The inputs that are not given: ids below the rows of the tables that they are looked up in.

    Positions are left out, since they follow.

    Parameters
    ----------
    model : Model
    given : dict of str to array
        They also give the number of tokens, which is small otherwise.
    seed : int
    tokens : int, optional
        Number of tokens, if none is given.
    """
    rng = np.random.default_rng(seed)
    least, most = model.tokens
    sizes = [len(np.asarray(array)) for array in given.values() if np.ndim(array)]
    if sizes or tokens is None:
        tokens = sizes[0] if sizes else max(least, min(FEW, most))
    bounds: dict[str, int] = {}
    for placed in model.placed:
        if isinstance(placed.op.kind, Embedding):
            name, rows = placed.op.inputs[0], placed.given.weights["table"][0]
            bounds[name] = min(rows, bounds.get(name, rows))
    found: dict[str, Array] = {}
    for name, value in model.inputs.items():
        if name in given or name == POSITIONS:
            continue
        if value.element == "int32":
            found[name] = rng.integers(0, bounds.get(name, 2), tokens)
        else:
            shape = (tokens, *(int(n) for n in value.shape[1:]))
            found[name] = rng.normal(size=shape)
    return found
