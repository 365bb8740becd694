"""Blocks: a part of a model, such as an attention or the experts of a layer, as a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from stepgen.frontend.kind import Value
from stepgen.frontend.model import Model, Op, short
from stepgen.frontend.weight import Array, Weight
from stepgen.ir.errors import StepError


def block(model: Model, name: str, layer: int = 0) -> Model:
    """A part of a model, with its inputs as they are inside.

    Parameters
    ----------
    model : Model
    name : str
        What the names of its operations begin with, in a layer without what is before: ``mlp``,
        ``self_attn``, or one operation, as ``mlp.experts``; of a loop, one layer.
    layer : int
        Whose weights it has.

    Raises
    ------
    StepError
        If there is no such part or layer, or it makes several values.
    """
    for ops, loop in _bodies(model):
        if loop is not None and name in (loop.name, loop.name.rpartition(".")[2]):
            return _alone(model, name, [*ops], ops, loop, layer)
        chosen = [op for op in ops if f"{short(op.name)}.".startswith(f"{name}.")]
        if chosen:
            return _alone(model, name, chosen, ops, loop, layer)
    known = sorted({part for ops, loop in _bodies(model) for part in _parts(ops, loop)})
    raise StepError(f"{model.name} has no block {name!r}, it has {', '.join(known)}")


def _bodies(model: Model) -> Iterator[tuple[Sequence[Op], Op | None]]:
    """Operations that follow each other, and the loop that they are in; loops first."""
    for op in model.ops:
        loop = op.kind.loop()
        if loop is not None:
            yield loop.body, op
    yield model.ops, None


def _parts(ops: Sequence[Op], loop: Op | None) -> Iterator[str]:
    """Names of blocks: what several operations begin with, those with weights, a loop."""
    if loop is not None:
        yield loop.name
    for op in ops:
        name = short(op.name)
        if loop is not None and "." in name:
            yield name.partition(".")[0]
        elif op.weights:
            yield name


def _alone(
    model: Model, name: str, chosen: list[Op], ops: Sequence[Op], loop: Op | None, layer: int
) -> Model:
    kind = None if loop is None else loop.kind.loop()
    trips = 1 if kind is None else kind.trips
    if not 0 <= layer < trips:
        raise StepError(
            f"{model.name}: {name} has layers 0 to {trips - 1}, so layer can't be {layer}"
        )
    made = {op.name: short(op.name) for op in chosen}
    read = dict.fromkeys(one for op in chosen for one in op.inputs if one not in made)
    inputs: dict[str, Value] = {}
    for value in read:
        new = value
        if value not in model.inputs:
            new = "x" if "x" not in inputs else f"x{sum(n[:1] == 'x' for n in inputs)}"
        inputs[new], made[value] = model.types[value], new
    others = {one for op in ops if op not in chosen for one in op.inputs}
    ends = {*model.outputs, *others, *(() if kind is None else (kind.end,))}
    last = [op.name for op in chosen if op.name in ends] or [chosen[-1].name]
    if len(last) > 1:
        raise StepError(
            f"{model.name}: the block {name} makes several values, {', '.join(map(short, last))}"
        )

    def own(weight: str) -> Weight:
        whole = model.weights[weight]
        if kind is None or weight in kind.shared:
            return whole

        def of_layer(array: Array) -> Array:
            return np.asarray(array[layer])

        return whole.moved(whole.shape[1:], of_layer)

    return Model(
        f"{model.name}_{name}",
        model.tokens,
        inputs,
        (made[last[0]],),
        tuple(
            replace(op, name=made[op.name], inputs=tuple(made[one] for one in op.inputs))
            for op in chosen
        ),
        {weight: own(weight) for op in chosen for weight in op.weights.values()},
    )
