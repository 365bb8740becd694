"""Loops: layers that are alike become the body of one loop, with stacked weights."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any

from stepgen.frontend.kinds.loop import Loop
from stepgen.frontend.model import Model, Op, walk
from stepgen.frontend.passes.bodies import with_ops
from stepgen.frontend.weight import Weight, stacked

_LAYER = re.compile(r"(?:(.*?)\.)?(\d+)(?:\.|$)")
"""The first number in the path of a module is that of the layer."""


def fold_layers(model: Model) -> Model:
    """The model with a loop for each stretch of layers that are alike.

    Layers are operations whose paths have the same beginning and then a number, as ``layers.0``. A
    loop may have several of them in its body, where they alternate. What differs from layer to
    layer is in weights, which are stacked.
    """
    ops: list[Op] = []
    weights: dict[str, Weight] = {}
    renamed: dict[str, str] = {}
    after = [*model.ops]
    for prefix, found in groupby(model.ops, _prefix):
        stretch = [_renamed(op, renamed) for op in found]
        del after[: len(stretch)]
        if prefix is None:
            ops += stretch
            continue
        used = {*model.outputs, *(name for op in walk(after) for name in op.inputs)}
        layers = [[*group] for _, group in groupby(stretch, _number)]
        for part in _parts(model, layers, used):
            if part.trips == 1:
                ops += [_renamed(op, renamed) for layer in part.layers for op in layer]
            else:
                made = _loop(model, prefix, part, weights, renamed)
                ops.append(_renamed(made, renamed))
                renamed[part.end] = made.name
    outputs = tuple(renamed.get(name, name) for name in model.outputs)
    return with_ops(model, ops, weights=weights, outputs=outputs)


def _prefix(op: Op) -> str | None:
    found = _LAYER.match(op.path)
    return (found[1] or "") if found else None


def _number(op: Op) -> int:
    found = _LAYER.match(op.path)
    assert found is not None
    return int(found[2])


def _renamed(op: Op, names: dict[str, str]) -> Op:
    return replace(op, inputs=tuple(names.get(name, name) for name in op.inputs))


@dataclass(frozen=True)
class _Part:
    """Some layers: `trips` blocks of equal numbers of layers, one after the other."""

    layers: Sequence[list[Op]]
    trips: int

    @property
    def blocks(self) -> list[list[Op]]:
        """The operations of each trip."""
        each = len(self.layers) // self.trips
        starts = range(0, len(self.layers), each)
        return [[op for layer in self.layers[s : s + each] for op in layer] for s in starts]

    @property
    def end(self) -> str:
        """What the last block makes."""
        blocks = self.blocks
        return blocks[-1][_carried(blocks)[0]].name


def _parts(model: Model, layers: Sequence[list[Op]], used: set[str]) -> list[_Part]:
    """Cut a stretch of layers in loops and single layers: the longest loop goes first."""
    found, start = [], 0
    while start < len(layers):
        best = _Part(layers[start : start + 1], 1)
        for each in range(1, (len(layers) - start) // 2 + 1):
            if len(best.layers) == len(layers) - start:
                break
            trips = 2
            while start + trips * each <= len(layers):
                part = _Part(layers[start : start + trips * each], trips)
                rest = layers[start + trips * each :]
                read = used | {name for layer in rest for op in layer for name in op.inputs}
                if not _alike(model, part.blocks, read):
                    # Two blocks may be alike though they may not end here.
                    if not _alike(model, part.blocks, set()):
                        break
                elif len(part.layers) > len(best.layers):
                    best = part
                trips += 1
        found.append(best)
        start += len(best.layers)
    return found


def _signature(model: Model, block: Sequence[Op], before: Sequence[Op] | None) -> list[Any]:
    """A block up to names of its own values and weights."""
    own = {op.name: ("own", index) for index, op in enumerate(block)}
    past = {op.name: ("past", index) for index, op in enumerate(before or ())}
    return [
        (
            op.kind,
            tuple(own.get(n) or past.get(n) or ("outer", n) for n in op.inputs),
            {r: (model.weights[w].shape, model.weights[w].element) for r, w in op.weights.items()},
        )
        for op in block
    ]


def _carried(blocks: Sequence[Sequence[Op]]) -> tuple[int, str]:
    """The operation whose value goes from block to block, and what the first begins with."""
    names = {op.name: index for index, op in enumerate(blocks[0])}
    pairs = {
        (names[later], first)
        for a, b in zip(blocks[0], blocks[1], strict=True)
        for first, later in zip(a.inputs, b.inputs, strict=True)
        if later in names
    }
    (pair,) = pairs
    return pair


def _alike(model: Model, blocks: Sequence[Sequence[Op]], used: set[str]) -> bool:
    """Whether blocks are one body, of which others only use what the last one makes."""
    second = _signature(model, blocks[1], blocks[0])
    if len(blocks[0]) != len(second):
        return False
    try:
        end, seed = _carried(blocks)
    except ValueError:
        return False
    first = [
        (kind, tuple(("past", end) if i == ("outer", seed) else i for i in inputs), weights)
        for kind, inputs, weights in _signature(model, blocks[0], None)
    ]
    each = [_signature(model, b, a) for a, b in pairwise(blocks)][1:]
    inner = {op.name for block in blocks for op in block} - {blocks[-1][end].name}
    return not inner & used and all(other == second for other in (first, *each))


def _loop(
    model: Model,
    prefix: str,
    part: _Part,
    weights: dict[str, Weight],
    renamed: dict[str, str],
) -> Op:
    blocks = part.blocks
    end, seed = _carried(blocks)
    each = len(part.layers) // part.trips
    numbers = [_number(layer[0]) for layer in part.layers]
    labels = {
        number: "*" if each == 1 and numbers[0] == 0 else f"{number}-{numbers[index - each]}"
        for index, number in enumerate(numbers[:each])
    }

    def starred(name: str) -> str:
        def label(found: re.Match[str]) -> str:
            return labels.get(int(found[1]), found[1])

        return re.sub(r"(?:(?<=\.)|^)(\d+)(?=\.|_|$)", label, name, count=1)

    name = f"{prefix or 'layers'}" + ("" if labels[numbers[0]] == "*" else f".{numbers[0]}")
    begin = f"{name}.begin"
    own = {op.name: starred(op.name) for op in blocks[0]} | {seed: begin}
    shared, body = [], []
    for same in zip(*blocks, strict=True):
        op, roles = same[0], {}
        for role, first in op.weights.items():
            if all(other.weights[role] == first for other in same):
                roles[role] = first
                shared.append(first)
            else:
                roles[role] = starred(first)
                weights[roles[role]] = stacked([model.weights[o.weights[role]] for o in same])
        inputs = tuple(own.get(name, name) for name in op.inputs)
        path = starred(op.path)
        body.append(replace(op, name=own[op.name], inputs=inputs, weights=roles, path=path))
    kind = Loop(
        part.trips, begin, own[blocks[0][end].name], tuple(dict.fromkeys(shared)), tuple(body)
    )
    return Op(kind, name, (seed,), {}, name)
