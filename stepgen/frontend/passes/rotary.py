"""RoPE: columns of projections in an order in which those that turn together are neighbours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stepgen.frontend.kinds.attention import Attention
from stepgen.frontend.kinds.heads import Heads
from stepgen.frontend.kinds.linear import Linear
from stepgen.frontend.kinds.norm import Norm
from stepgen.frontend.kinds.rope import Rope
from stepgen.frontend.kinds.scaled_linear import ScaledLinear
from stepgen.frontend.model import Model, Op
from stepgen.frontend.passes.bodies import Body, rewritten
from stepgen.frontend.weight import Weight

LINEARS = (Linear, ScaledLinear)


def pair_columns(model: Model) -> Model:
    """The model whose RoPE turns neighbours, with the columns of queries and keys reordered.

    Scores do not change, since columns of queries and keys are reordered alike. Where the columns
    do not come from a linear of their own, the RoPE stays as it is.
    """
    return rewritten(model, _pair)


def _pair(body: Body) -> None:
    done: set[str] = set()
    for op in [*body.ops]:
        if not isinstance(op.kind, Attention) or op.inputs[0] in done:
            continue
        chains = [_chain(body, name) for name in op.inputs[:2]]
        if any(chain is None for chain in chains):
            continue
        for chain in chains:
            _reorder(body, chain or [])
        done |= {*op.inputs[:2]}


def _chain(body: Body, name: str) -> list[Op] | None:
    """The operations from a RoPE up to the linear before it, if nothing else reads them."""
    rope = body.maker(name)
    if rope is None or not isinstance(rope.kind, Rope) or rope.kind.pairs != "halves":
        return None
    readers = body.only(name, Attention)
    if readers is None or len(readers) != 1:
        return None
    chain = [rope]
    while not isinstance(chain[-1].kind, LINEARS):
        above = body.maker(chain[-1].inputs[0])
        fits = above is not None and body.only(above.name, Rope, Norm, Heads) == [chain[-1]]
        if above is None or not fits or not isinstance(above.kind, (Norm, Heads, *LINEARS)):
            return None
        if not body.alone(above):
            return None
        chain.append(above)
    return chain


def _reorder(body: Body, chain: list[Op]) -> None:
    half = body.weights[chain[0].weights["frequencies"]].shape[-1]
    order = np.arange(2 * half).reshape(2, half).T.reshape(-1)
    for op in chain:
        made = {}
        for role, weight in body.of(op).items():
            rows = isinstance(op.kind, Linear) and op.kind.transposed and role == "weight"
            stays = isinstance(op.kind, Rope) or role == "step"  # that has no columns
            made[role] = weight if stays else _ordered(weight, order, -2 if rows else -1)
        kind = replace(op.kind, pairs="neighbours") if isinstance(op.kind, Rope) else op.kind
        if isinstance(op.kind, Rope):
            body.put(op, replace(op, kind=kind))
        elif made:
            body.put(op, body.reweigh(op, made))


def _ordered(weight: Weight, order: np.ndarray, axis: int) -> Weight:
    """With the same order within each head."""
    heads = weight.shape[axis] // len(order)
    whole = (np.arange(heads)[:, None] * len(order) + order).reshape(-1)
    return weight.moved(weight.shape, lambda a: np.take(a, whole, axis))
