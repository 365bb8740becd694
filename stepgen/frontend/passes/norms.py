"""Norms: their weights go into what multiplies their results."""

from __future__ import annotations

import numpy as np

from stepgen.frontend.kinds.experts import Experts
from stepgen.frontend.kinds.linear import Linear
from stepgen.frontend.kinds.norm import Norm
from stepgen.frontend.model import Model, Op
from stepgen.frontend.passes.bodies import Body, rewritten
from stepgen.frontend.weight import Array, Weight, computed


def fold_norms(model: Model) -> Model:
    """The model whose norms have no weights where only linears and experts read them.

    A bias of a norm goes into those of linears. Norms that something else reads, or whose readers
    share a weight with another operation, stay as they are.
    """
    return rewritten(model, _fold)


def _fold(body: Body) -> None:
    for op in [*body.ops]:
        if not isinstance(op.kind, Norm) or not op.weights or not body.alone(op):
            continue
        kinds = (Linear,) if "bias" in op.weights else (Linear, Experts)
        readers = body.only(op.name, *kinds)
        if readers is None or not all(body.alone(reader) for reader in readers):
            continue
        norm = body.of(op)
        for reader in readers:
            multiply = _linear if isinstance(reader.kind, Linear) else _experts
            body.put(reader, body.reweigh(reader, multiply(reader, body.of(reader), norm)))
        body.put(op, body.reweigh(op, {}))


def _linear(op: Op, own: dict[str, Weight], norm: dict[str, Weight]) -> dict[str, Weight]:
    kind = op.kind
    assert isinstance(kind, Linear)
    made, weight = dict(own), own["weight"]
    if "weight" in norm:
        made["weight"] = _times(weight, norm["weight"], columns=kind.transposed)
    if "bias" in norm:
        *outer, rows, cols = weight.shape

        def through(bias: Array, matrix: Array, *old: Array) -> Array:
            matrix = np.swapaxes(matrix, -1, -2) if kind.transposed else matrix
            return np.asarray((bias[..., None, :] @ matrix)[..., 0, :] + sum(old))

        shape = (*outer, rows if kind.transposed else cols)
        old = [own["bias"]] if "bias" in own else []
        made["bias"] = computed(through, shape, norm["bias"], weight, *old)
    return made


def _experts(op: Op, own: dict[str, Weight], norm: dict[str, Weight]) -> dict[str, Weight]:
    weight = norm["weight"]
    made = {**own, "router": _times(own["router"], weight)}
    for role in ("gate", "up"):
        each = weight.moved((*weight.shape[:-1], 1, weight.shape[-1]), lambda a: a[..., None, :])
        made[role] = _times(own[role], each)
    return made


def _times(matrix: Weight, factors: Weight, *, columns: bool = False) -> Weight:
    """A matrix whose rows, or columns, are multiplied."""

    def product(a: Array, f: Array) -> Array:
        return np.asarray(a * (f[..., None, :] if columns else f[..., :, None]))

    return computed(product, matrix.shape, matrix, factors)
