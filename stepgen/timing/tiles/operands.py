"""Operands of a function: one per tile; each item of a tuple is an operand."""

from __future__ import annotations

from collections.abc import Iterator

from stepgen.ir.dtypes import FLAG, DataType, Selector, Tile, TupleType, address
from stepgen.ir.errors import StepError
from stepgen.ir.stream import Node
from stepgen.timing.kernel import *
from stepgen.timing.tiles.actor import tile_word
from stepgen.timing.tiles.program import TileProgram

OPERAND = offsets("channel", "columns", "steps", "path")
"""Origin of an operand; its path through tuples has `DEEPEST` words. A selector, and a row
of flags or addresses, whose word is not a tile, has its columns here, all else 0; so have addresses
that a function computes with."""
DEEPEST = 4
"""Most levels of nested tuples."""
OPERAND_SIZE = OPERAND.path + DEEPEST


@helper
def word(M: Memory, operands: int, n: int) -> int:
    """The word of operand `n` at the head of its FIFO."""
    at = operands + n * OPERAND_SIZE
    found = aux_of(head(M, M[at + OPERAND.channel]))
    for i in range(M[at + OPERAND.steps]):
        found = M[found + M[at + OPERAND.path + i]]
    return found


@helper
def operand(M: Memory, operands: int, count: int, n: int) -> int:
    """Operand `n` of `count` as a tile, 0 for none."""
    if n >= count:
        return 0
    columns = M[operands + n * OPERAND_SIZE + OPERAND.columns]
    return tile_word(1, columns, 0, 0) if columns else word(M, operands, n)


def leaves(dtype: DataType) -> Iterator[tuple[DataType, tuple[int, ...]]]:
    """The items of a data type that are not tuples, and their paths."""
    if not isinstance(dtype, TupleType):
        yield dtype, ()
        return
    for i, item in enumerate(dtype.items):
        for leaf, path in leaves(item):
            yield leaf, (i, *path)


def build(node: Node, to: TileProgram) -> tuple[int, int]:
    """Lay out the records of a node's operands; returns their address and number.

    Raises
    ------
    StepError
        If tuples are nested too deeply.
    """
    words: list[int] = []
    function = node.attrs["fn"]
    placed = getattr(function, "extents_of", "") == "placed"
    extents = not (function.reads_numbers or placed)
    for stream, channel in zip(node.inputs, to.inputs(node), strict=True):
        for leaf, path in leaves(stream.dtype):
            if len(path) > DEEPEST:
                raise StepError(
                    f"{node.name} ({node.where}): the timing on tiles takes tuples nested up to "
                    f"{DEEPEST} deep, not {len(path)} as in {stream.name}"
                )
            padded = [*path, *[0] * (DEEPEST - len(path))]
            words += packed(
                OPERAND,
                channel=channel,
                columns=_columns(leaf, extents=extents),
                steps=len(path),
                path=padded,
            )
    return to.reserve(words), len(words) // OPERAND_SIZE


def _columns(dtype: DataType, *, extents: bool) -> int:
    """Columns of flags, and of addresses if the extents of these count; 0 for all else."""
    if dtype == FLAG:
        return 1
    if isinstance(dtype, Selector):
        return dtype.n
    if extents and isinstance(dtype, Tile) and dtype.element == address:
        return dtype.cols.static or 0
    return 0
