"""What a function is given: one operand per tile; the items of tuples count one by one."""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.dtypes import FLAG, DataType, Tile, TupleType, address
from ...ir.errors import StepError
from ...ir.stream import Node
from ..kernel import Memory, aux_of, head, helper, offsets, packed
from .actor import tile_word
from .program import Program

OPERAND = offsets("channel", "is_flag", "steps", "path")
"""Where an operand comes from; its path through tuples has `DEEPEST` words."""
DEEPEST = 4
"""Tuples within tuples that a record has room for."""
OPERAND_SIZE = OPERAND.path + DEEPEST


@helper
def operand(M: Memory, operands: int, count: int, n: int) -> int:
    """What operand `n` of `count` is at the heads of its FIFO, 0 where there is none."""
    if n >= count:
        return 0
    at = operands + n * OPERAND_SIZE
    word = aux_of(head(M, M[at + OPERAND.channel]))
    for i in range(M[at + OPERAND.steps]):
        word = M[word + M[at + OPERAND.path + i]]
    # A flag carries its value; as a tile it has one element.
    return tile_word(1, 1, 0, 0) if M[at + OPERAND.is_flag] else word


def leaves(dtype: DataType) -> Iterator[tuple[DataType, tuple[int, ...]]]:
    """The items of a data type that are no tuples, and where they are."""
    if not isinstance(dtype, TupleType):
        yield dtype, ()
        return
    for i, item in enumerate(dtype.items):
        for leaf, path in leaves(item):
            yield leaf, (i, *path)


def build(node: Node, to: Program) -> tuple[int, int]:
    """Lay out the records of a node's operands; returns where they lie and how many there are.

    Raises
    ------
    StepError
        If tuples lie too deep within tuples.
    """
    words: list[int] = []
    # A scalar that becomes a number is a tile from here on, also where it carried a value.
    carries = (FLAG, Tile(1, 1, address)) if node.attrs["fn"].name == "convert" else (FLAG,)
    for stream, channel in zip(node.inputs, to.inputs(node), strict=True):
        for leaf, path in leaves(stream.dtype):
            if len(path) > DEEPEST:
                raise StepError(
                    f"{node.name} ({node.where}): the timing on tiles takes tuples within tuples "
                    f"{DEEPEST} deep, not {len(path)} as in {stream.name}"
                )
            padded = [*path, *[0] * (DEEPEST - len(path))]
            words += packed(
                OPERAND, channel=channel, is_flag=leaf in carries, steps=len(path), path=padded
            )
    return to.reserve(words), len(words) // OPERAND_SIZE
