"""The pieces of a tile by the type rule of a function for FlatMap: their number and extents."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stepgen.ir.dims import Dim, dynamic
from stepgen.ir.dtypes import Tile
from stepgen.ir.errors import StepError
from stepgen.ir.expr import Expr
from stepgen.ir.graph import Graph
from stepgen.ir.operator import Call
from stepgen.ir.stream import Node
from stepgen.timing.kernel import Memory, helper
from stepgen.timing.tiles.actor import (
    COLS_AT,
    MAX_EXTENT,
    cols_of,
    pad_cols_of,
    pad_rows_of,
    rows_of,
)
from stepgen.timing.tiles.streams import holds_tiles

MOST_ENTRIES = 1 << 16
"""Pairs of extents in a table."""

FIRST_ROW, ROWS, FIRST_COL, COLS, ENTRIES = range(5)
NUMBER, PIECE = range(2)
"""Words of a table: its extents, then for each pair of them the number of pieces, and a piece."""

NONE = 0
"""In place of an entry, where there is none."""


@helper
def entry(M: Memory, table: int, x: int) -> int:
    """The entry of a tile in a table; tiles with padding have none."""
    row, col = rows_of(x) - M[table + FIRST_ROW], cols_of(x) - M[table + FIRST_COL]
    if row < 0 or row >= M[table + ROWS] or col < 0 or col >= M[table + COLS]:
        return NONE
    at = table + ENTRIES + 2 * (row * M[table + COLS] + col)
    if M[at + NUMBER] < 0 or pad_rows_of(x) + pad_cols_of(x) > 0:
        return NONE
    return at


def by_type(node: Node) -> list[int]:
    """The table of what the tiles of a FlatMap's input become.

    Raises
    ------
    StepError
        If the type rule does not say it, or the tiles have too many different extents.
    """
    function, stream, out = node.attrs["fn"], node.inputs[0], node.outputs[0]
    failure = f"{node.name} ({node.where}): {function} has no timing on tiles, since"
    if not (holds_tiles(stream) and holds_tiles(out)):
        raise StepError(f"{failure} it cuts {stream.dtype} into {out.dtype}, whose contents matter")
    assert isinstance(stream.dtype, Tile)
    rows, cols = _free(stream.dtype.rows, "rows"), _free(stream.dtype.cols, "cols")
    call = Call(Graph("cutting"), node.op, node.inputs, node.attrs, node.where)
    cut = function.stream(call, node.attrs["rank"], Tile(rows, cols, stream.dtype.element))
    made = [cut.dims[-1].expr, *(dim.expr for dim in cut.dtype.dims)]
    unknown = {s for e in made for s in e.free_symbols} - {rows.expr, cols.expr}
    if unknown or cut.total is not None:
        raise StepError(f"{failure} its type does not say how many pieces of what extents it makes")
    spans = [_span(dim) for dim in (rows, cols)]
    if len(spans[0]) * len(spans[1]) > MOST_ENTRIES:
        raise StepError(
            f"{failure} tiles {stream.dtype} can have more than {MOST_ENTRIES:,} pairs of extents; "
            f"give one of them a bound"
        )
    grid = np.meshgrid(*spans, indexing="ij")
    count, *extents = (_values(e, {rows.expr: grid[0], cols.expr: grid[1]}) for e in made)
    fits = [(e >= 0) & (e <= MAX_EXTENT) & (e == np.floor(e)) for e in (count, *extents)]
    good = np.all(fits, axis=0)
    words = [int(n) for span in spans for n in (span[0], len(span))]
    for number, height, width, known in zip(count, *extents, good, strict=True):
        words += [int(number), int(height) | int(width) << COLS_AT] if known else [-1, 0]
    return words


def _free(dim: Dim, name: str) -> Dim:
    """A dim whose extent is a symbol of its own, unless it is static."""
    if dim.static is not None:
        return dim
    return dynamic(name, bound=dim.bound, positive=not dim.may_be_empty)


def _span(dim: Dim) -> npt.NDArray[np.int64]:
    """The extents that a dim can have."""
    if dim.static is not None:
        return np.array([dim.static])
    most = MAX_EXTENT if dim.bound is None else min(dim.bound, MAX_EXTENT)
    return np.arange(most + 1)


def _values(expr: Expr, extents: dict[Expr, npt.NDArray[np.int64]]) -> npt.NDArray[np.float64]:
    """The values of an expression, in the order of a table."""
    given = {symbol.name: extents[symbol] for symbol in expr.free_symbols}
    shape = next(iter(extents.values())).shape
    with np.errstate(divide="ignore", invalid="ignore"):  # NaN is not an extent
        found = expr.evaluate(given)
    return np.broadcast_to(np.asarray(found, float), shape).reshape(-1)
