"""Measures the extents of dims in a run, and checks the run against the types.

The measured numbers, substituted in the symbolic metrics, give traffic, memory and operations of
the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from stepgen.ir.dims import Dim
from stepgen.ir.dtypes import Buffer, Tile
from stepgen.ir.errors import StepError
from stepgen.ir.expr import Expr
from stepgen.ir.graph import Graph
from stepgen.ir.stream import StreamType
from stepgen.ir.wire import DONE, VALUE
from stepgen.semantics.tokens import Token

if TYPE_CHECKING:
    from stepgen.semantics.executor import Result

Extents = list[set[int]]
"""For each level k the extents that D_k takes in a stream."""


def sizes(tokens: Sequence[Token], rank: int) -> list[list[int]]:
    """Return the extents of each dim of a stream, innermost first, group by group."""
    seen: list[list[int]] = [[] for _ in range(rank + 1)]
    counts = [0] * (rank + 1)
    for token in tokens:
        if token.kind == DONE:
            seen[rank].append(counts[rank])
            break
        first = 1 if token.kind == VALUE else token.low + 1
        counts[first - 1] += 1
        if token.kind != VALUE:
            seen[token.low - 1].append(0)
        for level in range(first, token.stop + 1):
            seen[level - 1].append(counts[level - 1])
            counts[level - 1] = 0
            counts[level] += 1
    return seen


def extents(tokens: Sequence[Token], rank: int) -> Extents:
    """Return the extents that each dim of a stream takes, innermost first."""
    return [set(each) for each in sizes(tokens, rank)]


def totals(tokens: Sequence[Token], rank: int) -> list[int]:
    """Return the number of rank-k groups of a stream, for k from 0 (elements) to `rank`."""
    count = [0] * (rank + 1)
    for token in tokens:
        if token.kind != DONE:
            for level in range(0 if token.kind == VALUE else token.low, token.stop + 1):
                count[level] += 1
    return count


def check_shape(tokens: Sequence[Token], type: StreamType, name: str) -> None:
    """Check that a stream conforms to the dims of its type.

    Raises
    ------
    StepError
        Naming the stream, its shape and the dim.
    """
    shape = f"{name} of shape [{', '.join(str(d) for d in type.shape)}]"
    for level, seen in enumerate(extents(tokens, type.rank)):
        dim = type.shape[type.rank - level]
        for extent in sorted(seen):
            if dim.static not in (None, extent):
                raise StepError(f"{shape} has {extent} items in dim D{level} instead of {dim}")
            if extent == 0 and not dim.may_be_empty:
                raise StepError(f"{shape} has an empty dim D{level}, but {dim} is at least 1")
            if dim.bound is not None and extent > dim.bound:
                raise StepError(
                    f"{shape} has {extent} items in dim D{level}, more than the {dim.bound} that "
                    f"{dim} can be"
                )
        if not dim.is_ragged and len(seen) > 1:
            raise StepError(
                f"{shape} has {min(seen)} and {max(seen)} items in dim D{level}, "
                f"but {dim} is regular"
            )


def measure(graph: Graph, result: Result) -> dict[Expr, int]:
    """Return the value of every symbol of the program's types in a run.

    Ragged dims have no single value and are left out; their totals are included.

    Parameters
    ----------
    graph : Graph
        The program.
    result : Result
        Result of `stepgen.semantics.executor.run`.

    Raises
    ------
    StepError
        If the run contradicts a type: a symbol with two values, or an expression that differs from
        the count.
    """
    known: dict[Expr, int] = {}
    facts: list[tuple[str, Expr, int]] = []
    for node in graph.nodes:
        for stream in node.outputs:
            tokens = result.streams[stream.name]
            check_shape(tokens, stream.type, stream.name)
            for level, seen in enumerate(extents(tokens, stream.rank)):
                facts.extend(_regular(f"dim D{level} of {stream.name}", stream.dim(level), seen))
            counted = totals(tokens, stream.rank)
            for level, (total, count) in enumerate(zip(stream.totals, counted, strict=True)):
                facts.append((f"groups of rank {level} in {stream.name}", total, count))
            held = [token.value for token in tokens if token.kind == VALUE]
            dtype = stream.dtype
            if isinstance(dtype, Buffer):
                for level, dim in enumerate(reversed(dtype.shape)):
                    seen = {n for ref in held for n in extents(ref.tokens, ref.rank)[level]}
                    facts.extend(_regular(f"dim D{level} of a buffer of {stream.name}", dim, seen))
                held = [t.value for ref in held for t in ref.tokens if t.kind == VALUE]
                dtype = dtype.tile
            if isinstance(dtype, Tile):
                for axis, dim in enumerate(dtype.dims):
                    what = f"tile {('rows', 'cols')[axis]} of {stream.name}"
                    facts.extend(_regular(what, dim, {tile.shape[axis] for tile in held}))
                volume = sum(tile.size for tile in held)
                facts.append((f"scalars in {stream.name}", stream.volume, volume))
    for what, expr, count in facts:
        if expr.is_symbol and known.setdefault(expr, count) != count:
            raise StepError(f"{what}: {expr} is {count} here but {known[expr]} elsewhere")
    for what, expr, count in facts:
        _hold(what, expr, count, known)
    return known


def _regular(what: str, dim: Dim, seen: set[int]) -> list[tuple[str, Expr, int]]:
    return [] if dim.is_ragged else [(what, dim.expr, extent) for extent in sorted(seen)]


def _hold(what: str, expr: Expr, count: int, known: Mapping[Expr, int]) -> None:
    if expr.is_symbol or not expr.free_symbols <= known.keys():
        return
    value = expr.evaluate({symbol.name: known[symbol] for symbol in expr.free_symbols})
    if value != count:
        raise StepError(f"{what}: {expr} is {value} in this run, but there are {count}")
