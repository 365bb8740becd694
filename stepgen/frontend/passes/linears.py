"""Linears: one whose columns are split as several, and several of one input as one."""

from __future__ import annotations

from dataclasses import replace

from stepgen.frontend.kinds.linear import Linear
from stepgen.frontend.kinds.scaled_linear import ScaledLinear
from stepgen.frontend.kinds.split import Split
from stepgen.frontend.model import Model, Op
from stepgen.frontend.passes.bodies import Body, rewritten
from stepgen.frontend.weight import Weight, joined


def split_linears(model: Model) -> Model:
    """The model with a linear for each split of what one linear makes."""
    return rewritten(model, _split)


def _split(body: Body) -> None:
    for op in [*body.ops]:
        cuts = body.only(op.name, Split) if isinstance(op.kind, Linear | ScaledLinear) else None
        if cuts is None or not body.alone(op):
            continue
        for cut in cuts:
            assert isinstance(cut.kind, Split)
            turned = isinstance(op.kind, Linear) and op.kind.transposed
            made = {
                role: weight  # its input's, not of columns
                if role == "step"
                else _columns(weight, cut.kind, turned and role == "weight")
                for role, weight in body.of(op).items()
            }
            part = replace(op, name=cut.name, weights={}, path=cut.path or op.path)
            body.put(cut, body.reweigh(part, made))
        body.ops.remove(op)


def _columns(weight: Weight, cut: Split, rows: bool) -> Weight:
    where = slice(cut.first, cut.first + cut.count)
    shape = [*weight.shape]
    shape[-2 if rows else -1] = cut.count
    return weight.moved(shape, lambda a: a[..., where, :] if rows else a[..., where])


def merge_linears(model: Model) -> Model:
    """The model with one linear, and splits, for all linears of one value."""
    return rewritten(model, _merge)


def _merge(body: Body) -> None:
    groups: dict[object, list[Op]] = {}
    for op in body.ops:
        if isinstance(op.kind, Linear) and body.alone(op):
            groups.setdefault((op.inputs, op.kind, "bias" in op.weights), []).append(op)
    for group in groups.values():
        if len(group) < 2:
            continue
        first, kind = group[0], group[0].kind
        assert isinstance(kind, Linear)
        given = [body.of(op) for op in group]
        made = {
            role: joined(
                [g[role] for g in given], -2 if kind.transposed and role == "weight" else -1
            )
            for role in given[0]
        }
        names = [first.name, *(op.name.rpartition(".")[2] for op in group[1:])]
        whole = body.reweigh(replace(first, name="+".join(names), weights={}), made)
        body.put(first, whole, first)
        start = 0
        for op, weights in zip(group, given, strict=True):
            shape = weights["weight"].shape
            count = shape[-2] if kind.transposed else shape[-1]
            cut = Op(Split(start, count), op.name, (whole.name,), {}, op.path, op.line)
            body.put(op, cut)
            start += count
