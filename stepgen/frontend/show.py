"""Models as text, as tables and as HTML."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from .kind import shape_text
from .model import Model, Placed
from .weight import ELEMENTS


@dataclass(frozen=True)
class Line:
    """An operation in a table.

    Attributes
    ----------
    placed : Placed
    parameters, bytes : int
        Of its weights, in all layers; those that an earlier operation has too are not counted.
    read : int
        Bytes that one token reads of weights and of the caches, in all layers.
    flops : int
        Operations for one token, in all layers.
    """

    placed: Placed
    parameters: int
    bytes: int
    read: int
    flops: int


def costs(model: Model, cached: int, cache_bytes: int = 2) -> list[Line]:
    """What each operation takes.

    Parameters
    ----------
    model : Model
    cached : int
        Rows in each cache.
    cache_bytes : int
        Size of a number in a cache.
    """
    found, seen = [], set()
    for placed in model.placed:
        op, given = placed.op, placed.given
        touched = op.kind.touched(given)
        parameters = size = read = 0
        for role, name in op.weights.items():
            weight = model.weights[name]
            read += touched[role] * ELEMENTS[weight.element].itemsize
            if name not in seen and weight.element != "int32":
                seen.add(name)
                parameters, size = parameters + weight.size, size + weight.bytes
        read += op.kind.cached(given) * cached * cache_bytes
        flops = op.kind.flops(given, cached)
        found.append(Line(placed, parameters, size, read * placed.trips, flops * placed.trips))
    return found


def head(model: Model) -> str:
    """One line about a model."""
    least, most = model.tokens
    size = sum(w.bytes for w in model.weights.values())
    return f"{model.name}: T {least} to {most}, {model.parameters:,} parameters, {size:,} bytes"


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
