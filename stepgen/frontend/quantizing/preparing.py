"""What is done to a model of real numbers before it is quantized: all of it exact."""

from __future__ import annotations

from dataclasses import replace

from stepgen.frontend.kinds.linear import Linear
from stepgen.frontend.model import Model
from stepgen.frontend.passes.bodies import with_ops
from stepgen.frontend.passes.linears import split_linears
from stepgen.frontend.passes.norms import fold_norms
from stepgen.frontend.passes.rotary import pair_columns


def prepared(model: Model) -> Model:
    """The model whose norms have no weights, where linears behind them can take these."""
    return fold_norms(pair_columns(split_linears(_untied(model))))


def _untied(model: Model) -> Model:
    """The model whose head has a weight of its own: in integers it is another one anyway."""
    used, weights, ops = model.used(), {}, []
    for op in model.ops:
        if isinstance(op.kind, Linear) and len(used[op.weights["weight"]]) > 1:
            name = f"{op.name}.weight"
            weights[name] = model.weights[op.weights["weight"]]
            op = replace(op, weights={**op.weights, "weight": name})
        ops.append(op)
    return with_ops(model, ops, weights)
