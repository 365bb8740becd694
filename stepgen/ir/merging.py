"""Type rules of merged streams, for Reassemble and EagerMerge."""

from __future__ import annotations

from collections.abc import Sequence

from stepgen.ir.dims import Dim, show_shape
from stepgen.ir.dtypes import Buffer, DataType, Tile
from stepgen.ir.expr import Expr, sum_of
from stepgen.ir.operator import Call
from stepgen.ir.stream import Stream

Merged = dict[Dim, tuple[Dim, ...]]


def common_type(
    call: Call, xs: Sequence[Stream], rank: int
) -> tuple[tuple[Dim, ...], DataType, Merged]:
    """The inner dims and the data type of merged streams.

    Dims that are decided at run time and differ between the streams become ragged ones.

    Parameters
    ----------
    call : Call
        The use that is being checked.
    xs : sequence of Stream
        The merged streams.
    rank : int
        Rank that all of them must have.

    Returns
    -------
    tuple of Dim, DataType, dict
        Inner dims, data type, and for each new dim the dim of each stream that it replaces.

    Raises
    ------
    StepError
        Through `call`, if the streams don't fit together.
    """
    if not xs:
        call.fail("there must be at least 1 stream to merge")
    first = xs[0]
    for x in xs:
        if x.rank != rank:
            call.fail(f"chunks have rank {rank}, so {x.name} must have rank {rank}, not {x}")
    merged: Merged = {}
    inner = tuple(
        _common_dim(call, xs, [x.shape[i] for x in xs], f"dim D{rank - i}", merged)
        for i in range(1, rank + 1)
    )
    if isinstance(first.dtype, Tile):
        return inner, _common_tile(call, xs, [call.tile(x) for x in xs], merged), merged
    if isinstance(first.dtype, Buffer):
        return inner, _common_buffer(call, xs, merged), merged
    for x in xs:
        if x.dtype != first.dtype:
            call.fail(f"{first.name} is {first} and {x.name} is {x}, which differ in data type")
    return inner, first.dtype, merged


def _common_tile(call: Call, xs: Sequence[Stream], tiles: Sequence[Tile], merged: Merged) -> Tile:
    first = xs[0]
    for x, tile in zip(xs, tiles, strict=True):
        if tile.element != tiles[0].element:
            call.fail(f"{first.name} is {first} and {x.name} is {x}, which differ in element type")
    rows = _common_dim(call, xs, [t.rows for t in tiles], "tile rows", merged)
    cols = _common_dim(call, xs, [t.cols for t in tiles], "tile cols", merged)
    return Tile(rows, cols, tiles[0].element)


def _common_buffer(call: Call, xs: Sequence[Stream], merged: Merged) -> Buffer:
    first, buffers = xs[0], [x.dtype for x in xs if isinstance(x.dtype, Buffer)]
    held = {len(buffer.shape) for buffer in buffers}
    if len(buffers) < len(xs) or len(held) > 1:
        kinds = ", ".join(f"{x.name} is {x}" for x in xs)
        call.fail(f"{kinds}, which must all be buffers of one rank")
    dims = [
        _common_dim(call, xs, each, "a dim of the buffers", merged)
        for each in zip(*(buffer.shape for buffer in buffers), strict=True)
    ]
    if any(dim.is_ragged for dim in dims[1:]):
        call.fail(
            f"buffers of {first.name} would have shape {show_shape(dims)}, of which only the "
            f"outermost dim may be ragged"
        )
    tile = _common_tile(call, xs, [buffer.tile for buffer in buffers], merged)
    return Buffer(tile, tuple(dims))


def _common_dim(
    call: Call, xs: Sequence[Stream], dims: Sequence[Dim], what: str, merged: Merged
) -> Dim:
    if all(d.same(dims[0]) for d in dims):
        return dims[0]
    statics = [(x, d) for x, d in zip(xs, dims, strict=True) if d.static is not None]
    for x, dim in statics[1:]:
        if not dim.same(statics[0][1]):
            other, its = statics[0]
            call.fail(
                f"{other.name} is {other} with shape {show_shape(other.shape)} and {x.name} is {x} "
                f"with shape {show_shape(x.shape)}, which differ in {what}, {its} against {dim}"
            )
    for known, stands_for in merged.items():
        if stands_for == tuple(dims):
            return known
    bounds = [d.bound for d in dims]
    bound = None if None in bounds else max(b for b in bounds if b is not None)
    fresh = call.symbols.fresh("R", "ragged", bound, positive=not any(d.may_be_empty for d in dims))
    merged[fresh] = tuple(dims)
    return fresh


def merged_totals(xs: Sequence[Stream], rank: int) -> tuple[dict[int, Expr], Expr]:
    """Groups per level up to `rank`, and scalars, of all streams together."""
    totals = {k: sum_of(*(x.totals[k] for x in xs)) for k in range(rank + 1)}
    return totals, sum_of(*(x.volume for x in xs))
