"""Operands of a function: one per tile; each item of a tuple is an operand."""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.dtypes import FLAG, DataType, Tile, TupleType, address
from ...ir.errors import StepError
from ...ir.stream import Node
from ..kernel import Memory, aux_of, head, helper, offsets, packed
from .actor import tile_word
from .program import Program

OPERAND = offsets("channel", "is_flag", "steps", "path")
"""Origin of an operand; its path through tuples has `DEEPEST` words."""
DEEPEST = 4
"""Most levels of nested tuples."""
OPERAND_SIZE = OPERAND.path + DEEPEST


@helper
def operand(M: Memory, operands: int, count: int, n: int) -> int:
    """Operand `n` of `count` at the head of its FIFO, 0 for none."""
    if n >= count:
        return 0
    at = operands + n * OPERAND_SIZE
    word = aux_of(head(M, M[at + OPERAND.channel]))
    for i in range(M[at + OPERAND.steps]):
        word = M[word + M[at + OPERAND.path + i]]
    # The word of a flag is its value; as a tile it has one element.
    return tile_word(1, 1, 0, 0) if M[at + OPERAND.is_flag] else word


def leaves(dtype: DataType) -> Iterator[tuple[DataType, tuple[int, ...]]]:
    """The items of a data type that are not tuples, and their paths."""
    if not isinstance(dtype, TupleType):
        yield dtype, ()
        return
    for i, item in enumerate(dtype.items):
        for leaf, path in leaves(item):
            yield leaf, (i, *path)


def build(node: Node, to: Program) -> tuple[int, int]:
    """Lay out the records of a node's operands; returns their address and number.

    Raises
    ------
    StepError
        If tuples are nested too deeply.
    """
    words: list[int] = []
    # A scalar that is converted to a number is a tile from here on.
    carries = (FLAG, Tile(1, 1, address)) if node.attrs["fn"].converts else (FLAG,)
    for stream, channel in zip(node.inputs, to.inputs(node), strict=True):
        for leaf, path in leaves(stream.dtype):
            if len(path) > DEEPEST:
                raise StepError(
                    f"{node.name} ({node.where}): the timing on tiles takes tuples nested up to "
                    f"{DEEPEST} deep, not {len(path)} as in {stream.name}"
                )
            padded = [*path, *[0] * (DEEPEST - len(path))]
            words += packed(
                OPERAND, channel=channel, is_flag=leaf in carries, steps=len(path), path=padded
            )
    return to.reserve(words), len(words) // OPERAND_SIZE
