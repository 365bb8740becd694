"""Models as tables: layers with their parameters, bytes and operations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType

from stepgen.frontend.bounds import Costs, costs_of
from stepgen.frontend.compiled import CompileLog
from stepgen.frontend.fusing import Fused
from stepgen.frontend.imported import Imported
from stepgen.frontend.model import Model, Placed, inside, short
from stepgen.frontend.show import Line, costs, head
from stepgen.ir.tensor import WORD
from stepgen.ir.wire import LANES
from stepgen.report.console import table

_WHAT = ("parameters", "bytes", "read_bytes_per_token", "flops_per_token")

_CIRCUIT = f"a circuit with {LANES} lanes and a memory port of {8 * WORD} bits"


def tables(model: Model, rows: int) -> Iterator[RenderableType]:
    """A line about a model, and a table of its operations; those of a loop are of one layer.

    Parameters
    ----------
    model : Model
    rows : int
        In each cache.
    """
    lines, least = costs(model, rows), costs_of(model, rows)
    yield head(model)
    inputs = ", ".join(f"{name} {value}" for name, value in model.inputs.items())
    outputs = ", ".join(f"{name} {model.types[name]}" for name in model.outputs)
    yield f"inputs {inputs}; outputs {outputs}"
    cached = sum(line.cached * line.placed.trips for line in lines)
    if cached:
        yield f"caches: {cached:,} bytes a token, {cached * rows:,} with {rows:,} rows"
    columns = ("value", "made by", "type", "parameters", "bytes", "bytes read", "operations")
    shown = [(*_row(model, lines, line), _cycles(model, least, line.placed)) for line in lines]
    shown.append(("whole model", "", "", *_total(lines), _cycles(model, least)))
    title = "Operations, in a loop those of one layer; bytes, operations and cycles for one token"
    title += f" with {rows:,} rows in the caches" if cached else ""
    yield table(title, *columns, "cycles", rows=shown, left=3)
    yield (
        f"no cycles: {least}"
        if isinstance(least, str)
        else f"cycles are the least that {_CIRCUIT} can take"
    )


def _row(model: Model, lines: list[Line], line: Line) -> tuple[Any, ...]:
    op, depth = line.placed.op, line.placed.depth
    name = "  " * depth + short(op.name) if depth else op.name
    numbers: tuple[int, ...] = line.numbers
    if op.kind.loop() is not None:
        inner = inside(op)
        numbers = _total([one for one in lines if one.placed.op.name in inner])
        return name, str(op.kind), str(model.types[op.name]), *numbers
    shown = tuple(n or None for n in numbers)
    return name, str(op.kind), str(model.types[op.name]), *shown


def _cycles(model: Model, least: Costs | str, placed: Placed | None = None) -> int | None:
    """Least cycles for a token: of an operation in one layer, of all layers of a loop, of all."""
    if isinstance(least, str):
        return None
    if placed is None:
        return max(least.port(WORD), least.busiest())
    if placed.op.kind.loop() is not None:
        names = {placed.op.name, *inside(placed.op)}
        return max(least.port(WORD, names), least.busiest(names))
    bound = least.bounds.get(placed.op.name)  # a linear that is split has become others
    cycles = None if bound is None else bound.least(WORD)
    return None if bound is None or not cycles else bound.each(cycles)


def _total(lines: list[Line]) -> tuple[int, ...]:
    """Sums over all layers."""
    return tuple(map(sum, zip(*(line.whole for line in lines), strict=True)))


def document(model: Model, rows: int) -> dict[str, Any]:
    """The same as JSON; the operations with their attributes are in `stepgen.frontend.dumps`."""
    lines, least = costs(model, rows), costs_of(model, rows)
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
                "cycles_per_token": _cycles(model, least, line.placed),
            }
            for line in lines
        ],
        "total": {
            **dict(zip(_WHAT, _total(lines), strict=True)),
            "cycles_per_token": _cycles(model, least),
        },
    }


def compiled(log: CompileLog) -> Iterator[RenderableType]:
    """What each operation of a model became, why, and its least cycles for a token."""
    yield log.head()
    columns = ("operation", "shape", "units", "why", "multipliers", "bytes read", "cycles", "bound")
    rows = [
        (
            "  " * ("*." in entry.name) + short(entry.name),
            entry.shape,
            entry.made_of,
            "; ".join(entry.reasons),
            entry.multipliers or None,
            entry.read or None,
            "?" if entry.cycles is None else entry.cycles or None,
            entry.bound,
        )
        for entry in log
    ]
    title = (
        "Operations as units, in a loop those of one layer; bytes and least cycles for one token"
    )
    yield table(title, *columns, rows=rows, left=4)
    if log.joints:
        headings = ("value", "read by", "made as, read as", "converter", "what it does", "bits")
        joined = [
            (
                short(joint.value),
                short(joint.reader),
                f"{joint.made}\n{joint.read}",
                joint.way,
                joint.why,
                joint.bits or None,
            )
            for joint in log.joints
        ]
        title = "Values that are read in another order, of a tile of tokens and in one layer"
        yield table(title, *headings, rows=joined, left=5)
    yield log.orders()
    yield log.total()


def groups(fusion: Fused | None) -> Iterator[RenderableType]:
    """The groups of operations that fit on chip, and what goes between them."""
    if fusion is None:
        return
    rows = [
        (k, ", ".join(map(short, g.names)), g.memory, ", ".join(g.reads), ", ".join(g.writes))
        for k, g in enumerate(fusion.groups)
    ]
    columns = ("group", "operations", "bits on chip", "reads", "writes")
    title = f"Groups under {fusion.onchip_bits:,} bits of units with {fusion.lanes} lanes"
    yield table(title, *columns, rows=rows, left=2)
    inside, moved = fusion.inside, fusion.grouping.traffic
    yield (
        f"{len(inside)} values of {sum(use.size for use in inside):,} bytes stay on chip, "
        f"{len(fusion.uses) - len(inside)} between groups are written and read: {moved:,} bytes, "
        f"by the published rule {fusion.published.traffic:,}"
    )


def compiled_document(log: CompileLog, fusion: Fused | None = None) -> dict[str, Any]:
    """The same as JSON."""
    orders = [
        {**asdict(joint), "made": str(joint.made), "read": str(joint.read)} for joint in log.joints
    ]
    document = {**asdict(log), "joints": orders}
    if fusion is not None:
        document["groups"] = [
            {"operations": g.names, "bits": g.memory, "reads": g.reads, "writes": g.writes}
            for g in fusion.groups
        ]
        document["traffic"] = fusion.grouping.traffic
    return document


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
