"""Dead code: operations and weights that no output needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from stepgen.frontend.model import Model, Op
from stepgen.frontend.passes.bodies import with_ops


def drop_dead(model: Model) -> Model:
    """The model without operations and weights that no output needs; its inputs stay."""
    return with_ops(model, _live(model.ops, {*model.outputs}))


def _live(ops: Sequence[Op], needed: set[str]) -> list[Op]:
    """What is needed of operations; the names of what they read are added to those needed."""
    kept = []
    for op in reversed(ops):
        if op.name not in needed:
            continue
        loop = op.kind.loop()
        if loop is not None:
            inside = {loop.end}
            body = _live(loop.body, inside)
            needed |= inside
            op = replace(op, kind=replace(loop, body=tuple(body)))
        needed |= {*op.inputs}
        kept.append(op)
    return kept[::-1]
