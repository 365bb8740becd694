"""Quantization of a model, and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from stepgen.frontend.kinds.placed_experts import PlacedExperts
from stepgen.frontend.kinds.placed_linear import PlacedLinear
from stepgen.frontend.kinds.scaled_experts import ScaledExperts
from stepgen.frontend.kinds.scaled_linear import ScaledLinear
from stepgen.frontend.model import Model, walk
from stepgen.frontend.quantizing.calibration import LEAST, Calibration, cut, losses, ranges
from stepgen.frontend.quantizing.errors import Error, errors
from stepgen.frontend.quantizing.making import Plan
from stepgen.frontend.quantizing.placing import PlacedWeight, Placing
from stepgen.frontend.quantizing.preparing import prepared
from stepgen.frontend.quantizing.ranges import Method, Range, Ranges
from stepgen.frontend.quantizing.scaling import Rounded, Scaled, Scaling
from stepgen.frontend.quantizing.schemes import SCHEMES, Schemes
from stepgen.frontend.quantizing.search import search
from stepgen.frontend.weight import Array
from stepgen.ir.arguments import shown
from stepgen.ir.errors import StepError

Scheme = Literal["int", "w8", "w4", "w8a8", "w4a8"]
"""How models are quantized.

``int``: with integers alone, weights and factors of int8. ``w8`` and ``w4``: weights of linears
and experts in 8 or 4 bits with scales, and real numbers else. ``w8a8`` and ``w4a8``: what these
read as int8, too, in steps that are calibrated.
"""

Scales = Literal["columns", "powers"]
"""What integers count, of schemes with real numbers.

``columns``: a real number for each column of a weight, or for each column and group of rows, and
for a value in each layer. ``powers``: a power of two for a weight and for a value, those of all
layers and experts, so that circuits load no scale and multiply by none.
"""

TEXT = 128
"""Tokens of a text into which ids are cut, at most."""

NARROW = (PlacedExperts, PlacedLinear, ScaledExperts, ScaledLinear)
"""Operations with weights of few bits and values of real numbers."""

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
        Of the calibration set, or rows of a model without ids.
    distances : tuple of float
        Mean Kullback-Leibler divergence from the model's distributions in nats, with places by the
        largest numbers alone and after each pass of the search.
    errors : tuple of Error
        Of each value.
    losses : tuple of float
        Of the model before and after, in nats.
    evaluated : int
        Tokens of these losses.
    weights : dict of str to Rounded or PlacedWeight
        Those with scales or places, by operation.
    steps : dict of str to list of Range
        Steps of values by what reads them, in each layer.
    """

    model: Model
    scheme: str
    tokens: int = 0
    distances: tuple[float, ...] = ()
    errors: tuple[Error, ...] = ()
    losses: tuple[float, float] | None = None
    evaluated: int = 0
    weights: Mapping[str, Rounded | PlacedWeight] = field(default_factory=dict)
    steps: Mapping[str, Sequence[Range]] = field(default_factory=dict)


def quantize(
    model: Model,
    calibrate: Any = None,
    scheme: Scheme = "int",
    evaluate: Any = None,
    group: int | None = None,
    calibration: Method | None = None,
    override: Mapping[str, str] | None = None,
    scales: Scales | None = None,
) -> Model:
    """The model with numbers of fewer bits.

    With ``w8`` and ``w4``, weights of linears and experts are integers of 8 or 4 bits. A scale is
    for a column, or in a linear for a column and `group` of rows; they make the squares of errors
    least, and all else stays. With ``w8a8`` and ``w4a8`` what they read is int8, too: the nearest
    number of steps, whose size is that of a layer and follows from the calibration set. Products
    are sums of int32. With ``scales="powers"`` scales and steps are powers of two, each that of all
    layers and experts: a circuit is smaller, since it loads no scale and multiplies by none.
    With ``int`` all are integers: weights and factors are int8, sums int32, what is added up from
    layer to layer int16, each with binary places that all layers and experts share. Places are
    searched for on the calibration set, so that the distributions of the next token change least.
    Such a model computes the same bits in numpy, in the reference and in hardware.

    Parameters
    ----------
    model : Model
        Of real numbers; for ``int`` from ids to logits.
    calibrate : array of int, or mapping of str to array
        Ids of a text, some hundred suffice; of a model without ids its inputs by name, rows as they
        come. ``w8`` and ``w4`` need none.
    scheme : {"int", "w8", "w4", "w8a8", "w4a8"}
    evaluate : array of int, optional
        Ids for `Quantized.losses`, by default those of the calibration set.
    group : int, optional
        Most rows of a weight that share a scale, of schemes with scales; by default all.
    calibration : {"mse", "minmax", "percentile"}, optional
        What of a value is cut off, of ``w8a8`` and ``w4a8``: what makes the squares of errors
        least, as by default, nothing that was seen, or one number of a thousand.
    override : mapping of str to str, optional
        Other schemes with scales, or ``none``, by patterns of names of operations, as
        ``{"*.mlp.*": "w4a8", "logits": "none"}``. Of several that fit the last counts.
    scales : {"columns", "powers"}, optional
        Of schemes with scales: real numbers for columns, by default, or powers of two.

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
    given = {"group": group, "calibration": calibration, "override": override, "scales": scales}
    return quantized(model, calibrate, scheme, evaluate, **given).model  # type: ignore[arg-type]


def quantized(
    model: Model,
    calibrate: Any = None,
    scheme: str = "int",
    evaluate: Any = None,
    progress: Callable[[float], None] | None = None,
    *,
    group: int | None = None,
    calibration: str | None = None,
    override: Mapping[str, str] | None = None,
    scales: str | None = None,
) -> Quantized:
    """As `quantize`, with errors and losses; `progress` gets the part of the work that is done."""
    if scheme not in get_args(Scheme):
        known = ", ".join(get_args(Scheme))
        raise StepError(f"there is no scheme {shown(scheme)}, those are {known}")
    for name, value in model.types.items():
        if value.places is not None:
            raise StepError(f"{model.name} is quantized already: its {name} is {value}")
    for op in walk(model.ops):
        if isinstance(op.kind, NARROW):
            raise StepError(f"{model.name} is quantized already: {op.where} has scales")
    if scales not in (None, *get_args(Scales)):
        known = " and ".join(get_args(Scales))
        raise StepError(f"there are no scales {shown(scales)}, those are {known}")
    if scheme in SCHEMES:
        schemes = Schemes(scheme, override or {})
        if calibration is not None and not schemes.needing:
            raise StepError(f"calibration is for w8a8, w4a8: {scheme} leaves values as they are")
        make = _narrowed(schemes, group, scales)
        return _with_scales(
            model, schemes, calibrate, evaluate, make, calibration or "mse", progress
        )
    for option, given in (("group", group), ("override", override), ("scales", scales)):
        if given:
            raise StepError(f"{option} is for {', '.join(SCHEMES)}: int has no scales")
    if calibration is not None:
        raise StepError("calibration is for w8a8, w4a8: int searches for places")
    ids, unseen = _texts(model, scheme, calibrate, evaluate)
    assert ids is not None
    assert unseen is not None
    model = prepared(model)
    most = min(model.tokens[1], TEXT)
    texts = [*cut(ids, most)]
    seen = Calibration(model, texts, max(1, SEARCHED // most))
    plan = Plan(model, seen.most)
    distances = tuple(search(plan, seen, progress or (lambda part: None)))
    made = plan.made()
    before, count = losses(model, [*cut(unseen, most)])
    after, _ = losses(made, [*cut(unseen, most)])
    return Quantized(
        made,
        scheme,
        len(ids),
        distances,
        tuple(errors(model, made, [{"ids": text} for text in seen.texts])),
        (before, after),
        count,
    )


def _with_scales(
    model: Model,
    schemes: Schemes,
    calibrate: Any,
    evaluate: Any,
    make: Callable[[Model, Ranges], Scaled[Any]],
    calibration: str,
    progress: Callable[[float], None] | None,
) -> Quantized:
    """The schemes with real numbers, whose weights are rounded when they are read."""
    most = min(model.tokens[1], TEXT)
    if "ids" in model.inputs or evaluate is not None:
        ids, unseen = _texts(model, schemes.needing, calibrate, evaluate)
        rows = 0 if ids is None else len(ids)
        runs = [] if ids is None else [{"ids": text} for text in cut(ids, most)]
    else:
        unseen = None
        rows, runs = _inputs(model, schemes.needing, calibrate, most)
    model = prepared(model)
    seen = ranges(model, runs if schemes.needing else [], calibration)
    made = make(model, seen)
    for number, weight in enumerate(made.weights.values() if progress else ()):
        assert progress is not None
        progress(number / len(made.weights))
        _ = weight.sqnr
    found = Quantized(made.made, schemes.scheme, rows, weights=made.weights, steps=made.steps)
    if unseen is not None and (evaluate is not None or _has_logits(model, unseen)):
        before, count = losses(model, [*cut(unseen, most)])
        after, _ = losses(made.made, [*cut(unseen, most)])
        found = replace(found, losses=(before, after), evaluated=count)
    spread = np.linspace(0, len(runs) - 1, min(max(1, SEARCHED // most), len(runs))).astype(int)
    return replace(found, errors=tuple(errors(model, made.made, [runs[n] for n in spread])))


def _has_logits(model: Model, ids: Array) -> bool:
    """Whether a model gives a number for each id, as for a loss; others have rows."""
    return bool(model.types[model.outputs[0]].width > ids.max())


def _narrowed(
    schemes: Schemes, group: int | None, scales: str | None
) -> Callable[[Model, Ranges], Scaled[Any]]:
    """What makes the weights of a model narrow."""
    if scales == "powers":
        if group is not None:
            raise StepError("group is for scales of columns: a power of two is for a whole weight")
        return lambda model, ranges: Placing(model, schemes, ranges)
    if group is not None and (type(group) is not int or group < 1):
        raise StepError(f"a group must have 1 row or more, not {shown(group)}")
    return lambda model, ranges: Scaling(model, schemes, ranges, group=group)


def _texts(
    model: Model, needing: str, calibrate: Any, evaluate: Any
) -> tuple[Array | None, Array | None]:
    """The calibration set, and the text to evaluate, which by default is the same."""
    if needing and calibrate is None:
        raise StepError(f"the scheme {needing} needs a calibration set: ids of a text")
    ids = None if calibrate is None else _ids(model, calibrate, "the calibration set")
    return ids, ids if evaluate is None else _ids(model, evaluate, "the text to evaluate")


def _inputs(
    model: Model, needing: str, calibrate: Any, most: int
) -> tuple[int, list[dict[str, Array]]]:
    """The rows of a calibration set for a model without ids, and its runs of so many at most."""
    names = ", ".join(model.inputs)
    if calibrate is None and not needing:
        return 0, []
    if not isinstance(calibrate, Mapping):
        raise StepError(
            f"{model.name} takes no ids, so {needing or 'a scheme'} needs a calibration set with "
            f"arrays of its inputs by name: {names} (npz)"
        )
    if missing := [name for name in model.inputs if name not in calibrate]:
        raise StepError(
            f"the calibration set lacks {', '.join(missing)}: the inputs of {model.name} are "
            f"{names}"
        )
    if more := sorted(set(map(str, calibrate)) - set(model.inputs)):
        raise StepError(f"{model.name} has no input {more[0]}, its inputs are {names}")
    given = {name: model.taken(name, calibrate[name]) for name in model.inputs}
    rows = {name: len(array) for name, array in given.items()}
    if len({*rows.values()}) > 1:
        each = ", ".join(f"{name} has {count}" for name, count in rows.items())
        raise StepError(f"all inputs of the calibration set must have the same rows: {each}")
    (count,) = {*rows.values()}
    if not count:
        raise StepError("the calibration set has no rows: give at least 1")
    starts = range(0, count, most)
    return count, [{name: x[at : at + most] for name, x in given.items()} for at in starts]


def _ids(model: Model, given: Any, what: str) -> Array:
    """Ids, checked."""
    if "ids" not in model.inputs:
        raise StepError(
            f"{model.name} takes no ids, its inputs are {', '.join(model.inputs)}: only models "
            f"from ids to logits have a loss, and a form of the scheme int"
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
