"""Quantization of a model, and what it costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from ...ir.arguments import shown
from ...ir.errors import StepError
from ..model import Model
from ..weight import Array
from .calibration import LEAST, Calibration, cut, losses
from .errors import Error, errors
from .making import Plan
from .preparing import prepared
from .search import search

Scheme = Literal["int"]
"""How models are quantized. ``int``: with integers alone, weights and factors of int8."""

TEXT = 128
"""Tokens of a text into which ids are cut, at most."""

SEARCHED = 1024
"""Tokens on which places are searched for, at most."""


@dataclass(frozen=True)
class Quantized:
    """A model of integers, and how far it is from the one it was made of.

    Attributes
    ----------
    model : Model
    scheme : str
    tokens : int
        Of the calibration set.
    distances : tuple of float
        Mean Kullback-Leibler divergence from the model's distributions in nats, with places by the
        largest numbers alone and after each pass of the search.
    errors : tuple of Error
        Of each value.
    losses : tuple of float
        Of the model before and after, in nats.
    evaluated : int
        Tokens of these losses.
    """

    model: Model
    scheme: str
    tokens: int
    distances: tuple[float, ...]
    errors: tuple[Error, ...]
    losses: tuple[float, float]
    evaluated: int


def quantize(model: Model, calibrate: Any, scheme: Scheme = "int", evaluate: Any = None) -> Model:
    """The model in integers.

    Weights and factors are int8, sums int32, what is added up from layer to layer int16, each with
    binary places that all layers and experts share. Places are searched for on the calibration set,
    so that the distributions of the next token change least. The model that is given back computes
    the same bits in numpy, in the reference and in hardware.

    Parameters
    ----------
    model : Model
        From ids to logits, of real numbers.
    calibrate : array of int
        Ids of a text; some hundred suffice.
    scheme : {"int"}
    evaluate : array of int, optional
        Ids for `Quantized.losses`, by default those of the calibration set.

    Raises
    ------
    StepError
        If the model is quantized already or an operation has no form of integers, or ids are
        missing or past the vocabulary.

    Examples
    --------
    >>> model = sg.frontend.load("model.stepgen")
    >>> sg.frontend.save(sg.frontend.quantize(model, calibrate=ids), "small.stepgen")
    """
    return quantized(model, calibrate, scheme, evaluate).model


def quantized(
    model: Model,
    calibrate: Any,
    scheme: str = "int",
    evaluate: Any = None,
    progress: Callable[[float], None] = lambda part: None,
) -> Quantized:
    """As `quantize`, with errors and losses; `progress` gets the part of the work that is done."""
    if scheme not in get_args(Scheme):
        known = ", ".join(get_args(Scheme))
        raise StepError(f"there is no scheme {shown(scheme)}, those are {known}")
    for name, value in model.types.items():
        if value.places is not None:
            raise StepError(f"{model.name} is quantized already: its {name} is {value}")
    ids = _ids(model, calibrate, "the calibration set")
    unseen = ids if evaluate is None else _ids(model, evaluate, "the text to evaluate")
    model = prepared(model)
    most = min(model.tokens[1], TEXT)
    texts = [*cut(ids, most)]
    calibration = Calibration(model, texts, max(1, SEARCHED // most))
    plan = Plan(model, calibration.most)
    distances = tuple(search(plan, calibration, progress))
    made = plan.made()
    before, count = losses(model, [*cut(unseen, most)])
    after, _ = losses(made, [*cut(unseen, most)])
    return Quantized(
        made,
        scheme,
        len(ids),
        distances,
        tuple(errors(model, made, calibration.texts)),
        (before, after),
        count,
    )


def _ids(model: Model, given: Any, what: str) -> Array:
    """Ids, checked."""
    if "ids" not in model.inputs:
        raise StepError(
            f"{model.name} takes no ids, its inputs are {', '.join(model.inputs)}: only models "
            f"that begin with ids can be quantized"
        )
    ids = np.asarray(given)
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
        raise StepError(f"{what} must be a list of integers, not {shown(given)}")
    if len(ids) < LEAST:
        raise StepError(f"{what} needs at least {LEAST} ids, it has {len(ids)}")
    for placed in model.placed:
        for index, bound in placed.op.kind.bounds(placed.given, model.tokens[1]).items():
            if placed.op.inputs[index] == "ids":
                try:
                    placed.op.check_numbers(ids, *bound)
                except StepError as error:
                    raise StepError(f"{what}: {error}") from None
    return ids
