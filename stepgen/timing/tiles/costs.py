"""Cost of applying a function to tiles: cycles, FLOPs, and the resulting tile.

An element takes as long as the slowest of reading its operands from on-chip memory, computing, and
writing the result (paper, section 5.1). Operands and results that are passed directly between units
take no memory access.
"""

from __future__ import annotations

from stepgen.ir.dtypes import Tile, bf16
from stepgen.ir.function import Function
from stepgen.timing.kernel import Memory, helper, offsets, packed
from stepgen.timing.tiles.actor import (
    MAX_PAD_COLS,
    MAX_PAD_ROWS,
    cols_of,
    pad_cols_of,
    pad_rows_of,
    rows_of,
    tile_word,
)

COST = offsets(
    *("form", "per_element", "flops_per_cycle", "fixed", "bandwidth", "add_up"),
    *("of_first", "of_second", "of_third", "of_output"),
    *("shape", "cols", "transposed", "stored"),
)
"""The record of a cost; `of_…` are bytes of a tile element that is read or written."""

ELEMENTWISE, PRODUCT = range(2)
SAME, JOINED, MULTIPLIED, ONE_COLUMN, ALL_COLUMNS, PLACED = range(6)

_SHAPES = {
    "both": JOINED,
    "first": SAME,
    "placed": PLACED,
    "product": MULTIPLIED,
    "rows": ONE_COLUMN,
    "cols": ALL_COLUMNS,
}
"""By the origin of the extents of a function's result."""

_ELEMENT = Tile(1, 1, bf16)


def record(
    function: Function,
    *,
    flops: int,
    fixed: int,
    bandwidth: int,
    add_up: bool,
    read: list[int],
    written: int,
    stored: int,
) -> list[int]:
    """The record of one use of a function.

    Parameters
    ----------
    function : Function
        The function.
    flops : int
        FLOPs per cycle.
    fixed : int
        Cycles per element, independent of its FLOPs; 0 to derive them from the FLOPs.
    bandwidth : int
        Bytes per cycle of an on-chip memory unit.
    add_up : bool
        Whether operands are read one after the other.
    read : list of int
        By operand, bytes of a tile element that is read from on-chip memory, else 0.
    written : int
        Bytes of a tile element of the result that goes to on-chip memory, else 0.
    stored : int
        Elements that an Accum is charged for storing; negative for those of the result.
    """
    shape = _SHAPES[getattr(function, "extents_of", "both")]
    form = PRODUCT if shape == MULTIPLIED else ELEMENTWISE
    each = 0 if form == PRODUCT else int(function.flops(*[_ELEMENT] * max(1, function.arity)))
    first, second, third = [*read, 0, 0, 0][:3]
    parameters = function.parameters()
    return packed(
        COST,
        form=form,
        per_element=each,
        flops_per_cycle=flops,
        fixed=fixed,
        bandwidth=bandwidth,
        add_up=add_up,
        of_first=first,
        of_second=second,
        of_third=third,
        of_output=written,
        shape=shape,
        cols=parameters.get("cols", parameters.get("k", 0)),
        transposed=parameters.get("transpose", False),
        stored=stored,
    )


@helper
def _joined(a: int, b: int) -> int:
    """The extents of both; one of 1 is repeated, also where the other is 0."""
    wide = b if cols_of(a) == 1 and cols_of(b) != 1 else a
    tall = b if rows_of(a) == 1 and rows_of(b) != 1 else a
    return tile_word(rows_of(tall), cols_of(wide), pad_rows_of(tall), pad_cols_of(wide))


@helper
def result(M: Memory, w: int, a: int, b: int, c: int) -> int:
    """The result of the operands `a`, `b` and `c` (0 for none)."""
    shape = M[w + COST.shape]
    if shape == PLACED:
        behind = max(0, rows_of(a) - c - rows_of(b))
        return tile_word(rows_of(a), cols_of(a), min(MAX_PAD_ROWS, behind), 0)
    if shape == SAME:
        return a
    if shape == MULTIPLIED:
        if M[w + COST.transposed]:
            return tile_word(
                rows_of(a), rows_of(b), pad_rows_of(a), min(MAX_PAD_COLS, pad_rows_of(b))
            )
        return tile_word(rows_of(a), cols_of(b), pad_rows_of(a), pad_cols_of(b))
    if shape == ONE_COLUMN:
        return tile_word(rows_of(a), 1, pad_rows_of(a), 0)
    if shape == ALL_COLUMNS:
        return tile_word(rows_of(a), M[w + COST.cols], pad_rows_of(a), 0)
    both = a if b == 0 else _joined(a, b)
    return both if c == 0 else _joined(both, c)


@helper
def flops(M: Memory, w: int, a: int, b: int, c: int) -> tuple[int, int]:
    """FLOPs for one element: all, and those that are not on padding."""
    if M[w + COST.form] == PRODUCT:
        out = result(M, w, a, b, 0)
        inner = max(pad_cols_of(a), pad_cols_of(b) if M[w + COST.transposed] else pad_rows_of(b))
        rows, cols = rows_of(out) - pad_rows_of(out), cols_of(out) - pad_cols_of(out)
        total = 2 * rows_of(out) * cols_of(a) * cols_of(out)
        return total, 2 * rows * (cols_of(a) - inner) * cols
    each = M[w + COST.per_element]
    if M[w + COST.shape] == JOINED:
        a = result(M, w, a, b, c)
    rows, cols = rows_of(a) - pad_rows_of(a), cols_of(a) - pad_cols_of(a)
    return each * rows_of(a) * cols_of(a), each * rows * cols


@helper
def _over(amount: int, rate: int) -> int:
    """The quotient, rounded up."""
    return (amount + rate - 1) // rate


@helper
def cycles(M: Memory, w: int, total: int, a: int, b: int, c: int, out: int) -> int:
    """Cycles for one element.

    Parameters
    ----------
    M : int64 array
        The state array.
    w : int
        Address of the cost record.
    total : int
        FLOPs.
    a, b, c : int
        Elements of the operands, 0 for none.
    out : int
        Elements of the result that are written now.
    """
    bandwidth = M[w + COST.bandwidth]
    first = _over(a * M[w + COST.of_first], bandwidth)
    second = _over(b * M[w + COST.of_second], bandwidth)
    third = _over(c * M[w + COST.of_third], bandwidth)
    load = first + second + third if M[w + COST.add_up] else max(first, second, third)
    compute = M[w + COST.fixed]
    if compute == 0:
        compute = _over(total, M[w + COST.flops_per_cycle])
    return max(load, compute, _over(out * M[w + COST.of_output], bandwidth))
