"""Constants: factors go into weights, and weights that change nothing are left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stepgen.frontend.kinds.embedding import Embedding
from stepgen.frontend.kinds.linear import Linear
from stepgen.frontend.kinds.map import Map
from stepgen.frontend.kinds.norm import Norm
from stepgen.frontend.model import Model, Op
from stepgen.frontend.passes.bodies import Body, rewritten
from stepgen.frontend.passes.dead import drop_dead
from stepgen.frontend.weight import Weight, computed
from stepgen.functions.arithmetic import Scale


def fold_constants(model: Model) -> Model:
    """The model without factors that weights can have, and without weights that change nothing.

    A factor goes into the weights of the linear, the embedding or the norm before it, or of the
    linears behind it, if no other operation has those weights. Two factors become one.
    """
    return drop_dead(rewritten(model, _fold))


def _fold(body: Body) -> None:
    for op in [*body.ops]:
        here = body.maker(op.name)
        if here is not None and isinstance(here.kind, Map) and isinstance(here.kind.fn, Scale):
            _factor(body, here, here.kind.fn.c)
    for op in [*body.ops]:
        roles = {role: w for role, w in body.of(op).items() if not _idle(op, role, w)}
        if len(roles) < len(op.weights):
            kept = {role: op.weights[role] for role in roles}
            body.put(op, replace(op, weights=kept))


def _idle(op: Op, role: str, weight: Weight) -> bool:
    """Whether a weight that may be left out changes nothing."""
    if not isinstance(op.kind, Linear | Norm) or role not in op.kind.takes:
        return False
    return bool(np.all(weight.array == (1 if role == "weight" else 0)))


def _factor(body: Body, op: Op, factor: float) -> None:
    (name,) = op.inputs
    before = body.maker(name)
    if factor != 1 and before is not None and body.only(name, Map) == [op]:
        made = _before(body, before, factor)
        if made is not None:
            body.put(before, made)
            factor = 1.0
    if factor != 1:
        readers = body.only(op.name, Linear)
        if readers is not None and all(body.alone(reader) for reader in readers):
            for reader in readers:
                own = body.of(reader)
                own["weight"] = _times(own["weight"], factor)
                body.put(reader, body.reweigh(reader, own))
            factor = 1.0
    if factor == 1 and op.name not in body.needed:
        body.rename(op.name, name)
        body.ops.remove(next(o for o in body.ops if o.name == op.name))
    elif factor == 1:
        body.put(op, replace(op, kind=Map(Scale(1.0))))


def _before(body: Body, op: Op, factor: float) -> Op | None:
    """An operation whose result has a factor; None if it can't have one."""
    if isinstance(op.kind, Map) and isinstance(op.kind.fn, Scale):
        return replace(op, kind=Map(Scale(op.kind.fn.c * factor)))
    if not isinstance(op.kind, Linear | Embedding | Norm) or not body.alone(op):
        return None
    if isinstance(op.kind, Norm) and "weight" not in op.weights:
        return None
    made = {role: _times(weight, factor) for role, weight in body.of(op).items()}
    return body.reweigh(op, made)


def _times(weight: Weight, factor: float) -> Weight:
    return computed(lambda a: np.asarray(a * factor), weight.shape, weight)
