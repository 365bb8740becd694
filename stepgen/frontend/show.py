"""Models as text, as tables and as HTML."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from stepgen.frontend.kind import shape_text
from stepgen.frontend.model import Model, Placed
from stepgen.frontend.weight import ELEMENTS


@dataclass(frozen=True)
class Line:
    """What an operation takes, in one layer.

    Attributes
    ----------
    placed : Placed
    parameters, bytes : int
        Of its weights; those that an earlier operation has too are not counted again.
    read : int
        Bytes that one token reads of weights and of the caches.
    cached : int
        Bytes that one token adds to the caches.
    flops : int
        Operations for one token.
    whole : tuple of int
        Parameters, bytes, bytes read and operations of all layers.
    """

    placed: Placed
    parameters: int
    bytes: int
    read: int
    cached: int
    flops: int
    whole: tuple[int, int, int, int]

    @property
    def numbers(self) -> tuple[int, int, int, int]:
        """Parameters, bytes, bytes read and operations."""
        return self.parameters, self.bytes, self.read, self.flops


def costs(model: Model, rows: int) -> list[Line]:
    """What each operation takes.

    A real number in a cache takes as many bytes as most weights that are real numbers do.

    Parameters
    ----------
    model : Model
    rows : int
        In each cache, that of the token included.
    """
    real = _real_bytes(model)
    found, seen = [], set()
    for placed in model.placed:
        op, given = placed.op, placed.given
        touched = op.kind.touched(given)
        parameters = size = read = all_parameters = all_bytes = 0
        for role, name in op.weights.items():
            element = model.weights[name].element
            wide = op.kind.bytes_of(role, element)
            read += int(touched[role] * wide)
            if name in seen:
                continue
            seen.add(name)
            count, whole_count = math.prod(given.weights[role]), model.weights[name].size
            size, all_bytes = size + int(count * wide), all_bytes + int(whole_count * wide)
            if element != "int32" and role not in op.kind.scaling:
                parameters, all_parameters = parameters + count, all_parameters + whole_count
        cached = op.kind.cached(given)
        if cached:
            kept = given.values[-1]
            cached *= real if kept.places is None else int(ELEMENTS[kept.element].itemsize)
        read += cached * rows
        flops = op.kind.flops(given, rows)
        whole = (all_parameters, all_bytes, read * placed.trips, flops * placed.trips)
        found.append(Line(placed, parameters, size, read, cached, flops, whole))
    return found


def _real_bytes(model: Model) -> int:
    """Bytes of a real number: those of most weights that are real numbers."""
    sizes: Counter[str] = Counter()
    for weight in model.weights.values():
        if weight.element in ("bf16", "f32"):
            sizes[weight.element] += weight.size
    return int(ELEMENTS[max(sizes, key=sizes.__getitem__, default="f32")].itemsize)


def head(model: Model) -> str:
    """One line about a model."""
    least, most = model.tokens
    size = sum(line.whole[1] for line in costs(model, 1))
    weights = f"{model.parameters:,} parameters, {size:,} bytes in memory"
    return f"{model.name}: T {least} to {most}, {weights}"


def text(model: Model) -> str:
    """One line per operation: name, type, kind, inputs, weights."""
    rows = [*_rows(model)]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(2)]
    lines = [f"model {head(model)}"]
    lines += [f"  {a:{widths[0]}}  {b:{widths[1]}}  {c}".rstrip() for a, b, c in rows]
    return "\n".join([*lines, f"  outputs {', '.join(model.outputs)}"])


def html(model: Model) -> str:
    """The same for notebooks: a table in HTML."""
    lines = ["<table>", f"<caption>model {escape(head(model))}</caption>"]
    lines.append("<tr><th>value</th><th>type</th><th>made by</th></tr>")
    for row in _rows(model):
        lines.append(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>")
    return "\n".join([*lines, "</table>"])


def _rows(model: Model) -> Iterator[tuple[str, str, str]]:
    for name, value in model.inputs.items():
        yield name, str(value), "input"
    for placed in model.placed:
        op = placed.op
        parts = [f"{op.kind} of {', '.join(op.inputs)}"]
        parts += [f"{role} {shape_text(s)}" for role, s in placed.given.weights.items()]
        yield f"{'  ' * placed.depth}{op.name}", str(model.types[op.name]), ", ".join(parts)
