"""Calibration: runs of a model on tokens, and how far a model of integers is from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from stepgen.frontend.model import Model
from stepgen.frontend.quantizing.ranges import Ranges
from stepgen.frontend.weight import Array
from stepgen.ir.errors import StepError

LEAST = 2
"""Tokens that a loss needs: one, and the one behind it."""


class Calibration:
    """A model of real numbers on texts, each of them a run of its own.

    Parameters
    ----------
    model : Model
    texts : sequence of array
        Ids, at least 2 in each.
    compared : int
        How many of them `distance` compares, evenly spread.

    Attributes
    ----------
    most : dict of str to float
        The largest numbers in all texts, as `Plan.most`.
    texts : list of array
        Those that are compared.
    """

    def __init__(self, model: Model, texts: Sequence[Array], compared: int) -> None:
        self.model = model
        self.most: dict[str, float] = {}
        every = [self._seen(ids) for ids in texts]
        spread = np.linspace(0, len(texts) - 1, min(compared, len(texts))).astype(int)
        self.texts, self._logs = [texts[n] for n in spread], [every[n] for n in spread]

    def _seen(self, ids: Array) -> Array:
        every: dict[Any, Array] = {}
        logs = _logs(self.model, ids, every)
        for (name, _), array in every.items():
            most = float(np.abs(array).max(initial=0.0))
            self.most[name] = max(most, self.most.get(name, 0.0))
        return logs

    def distance(self, model: Model) -> float:
        """The mean of the Kullback-Leibler divergence of each token's distribution, in nats."""
        found = []
        for ids, exact in zip(self.texts, self._logs, strict=True):
            found.append((np.exp(exact) * (exact - _logs(model, ids))).sum(-1))
        return float(np.concatenate(found).mean())


def ranges(model: Model, runs: Sequence[Mapping[str, Array]], method: str) -> Ranges:
    """Ranges of what linears and experts of a model read, over the inputs of runs."""
    found = Ranges(method)
    for inputs in runs:
        every: dict[Any, Array] = {}
        model.run(inputs, every=every)
        found.add(every)
    return found


def losses(model: Model, texts: Sequence[Array]) -> tuple[float, int]:
    """Mean loss of the next token in nats, and the number of tokens.

    Raises
    ------
    StepError
        If an id has no logit.
    """
    found = []
    for ids in texts:
        logs = _logs(model, ids)[:-1]
        if ids.max() >= logs.shape[-1]:
            raise StepError(
                f"{model.name} gives {logs.shape[-1]} logits, and a text has the id {ids.max()}: "
                "only a model from ids to logits has a loss"
            )
        found.append(-logs[np.arange(len(logs)), ids[1:]])
    every = np.concatenate(found)
    return float(every.mean()), len(every)


def _logs(model: Model, ids: Array, every: Any = None) -> Array:
    """Logarithms of probabilities of the next token."""
    (logits, *_) = model.run({"ids": ids}, every=every).values()
    logits = logits - logits.max(-1, keepdims=True)
    return np.asarray(logits - np.log(np.exp(logits).sum(-1, keepdims=True)))


def cut(ids: Array, most: int) -> Iterator[Array]:
    """Ids as texts of at most so many, the last of them at least 2."""
    for start in range(0, len(ids), most):
        piece = ids[start : start + most]
        if len(piece) >= LEAST:
            yield piece
