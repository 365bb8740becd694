"""Models as tables: layers with their parameters, bytes and operations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType

from ..frontend.imported import Imported
from ..frontend.model import Model
from ..frontend.show import Line, costs, head
from .console import table

_WHAT = ("parameters", "bytes", "read_bytes_per_token", "flops_per_token")


def tables(model: Model, rows: int) -> Iterator[RenderableType]:
    """A line about a model, and a table of its operations; those of a loop are of one layer.

    Parameters
    ----------
    model : Model
    rows : int
        In each cache.
    """
    lines = costs(model, rows)
    yield head(model)
    inputs = ", ".join(f"{name} {value}" for name, value in model.inputs.items())
    outputs = ", ".join(f"{name} {model.types[name]}" for name in model.outputs)
    yield f"inputs {inputs}; outputs {outputs}"
    cached = sum(line.cached * line.placed.trips for line in lines)
    if cached:
        yield f"caches: {cached:,} bytes a token, {cached * rows:,} with {rows:,} rows"
    columns = ("value", "made by", "type", "parameters", "bytes", "bytes read", "operations")
    shown = [_row(model, lines, line) for line in lines]
    shown.append(("whole model", "", "", *_total(lines)))
    title = "Operations, in a loop those of one layer; bytes read and operations for one token"
    title += f" with {rows:,} rows in the caches" if cached else ""
    yield table(title, *columns, rows=shown, left=3)


def _row(model: Model, lines: list[Line], line: Line) -> tuple[Any, ...]:
    op, depth = line.placed.op, line.placed.depth
    name = "  " * depth + op.name.rpartition("*." if depth else "\n")[2]
    loop = op.kind.loop()
    numbers: tuple[int, ...] = line.numbers
    if loop is not None:
        inner = {one.name for one in loop.body}
        numbers = _total([one for one in lines if one.placed.op.name in inner])
        return name, str(op.kind), str(model.types[op.name]), *numbers
    told = tuple(n or None for n in numbers)
    return name, str(op.kind), str(model.types[op.name]), *told


def _total(lines: list[Line]) -> tuple[int, ...]:
    """Sums over all layers."""
    return tuple(map(sum, zip(*(line.whole for line in lines), strict=True)))


def document(model: Model, rows: int) -> dict[str, Any]:
    """The same as JSON; the operations with their attributes are in `stepgen.frontend.dumps`."""
    lines = costs(model, rows)
    return {
        "name": model.name,
        "tokens": list(model.tokens),
        "rows": rows,
        "inputs": {name: str(value) for name, value in model.inputs.items()},
        "outputs": {name: str(model.types[name]) for name in model.outputs},
        "cache_bytes_per_token": sum(line.cached * line.placed.trips for line in lines),
        "operations": [
            {
                "name": line.placed.op.name,
                "kind": line.placed.op.kind.name,
                "made_by": str(line.placed.op.kind),
                "type": str(model.types[line.placed.op.name]),
                "layers": line.placed.trips,
                "path": line.placed.op.path,
                "line": line.placed.op.line,
                **dict(zip(_WHAT, line.numbers, strict=True)),
            }
            for line in lines
        ],
        "total": dict(zip(_WHAT, _total(lines), strict=True)),
    }


def found(imported: Imported) -> Iterator[str]:
    """What an import recognised and folded, in lines."""
    yield f"{imported.origin}: {head(imported.model)}"
    if imported.blocks:
        yield f"recognised by numbers: {_counts(imported.blocks)}"
    yield f"operations: {_counts(imported.kinds)}"
    loops = [f"{count} layers as the loop {name}" for name, count in imported.loops.items()]
    yield f"folded: {', '.join(loops) or 'no layers that are alike'}"
    if imported.error is not None:
        yield (
            f"largest error against the module: {imported.error:.1e} of the largest output, "
            f"{imported.tokens} random tokens"
        )


def _counts(found: dict[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(found.items()))
