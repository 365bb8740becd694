"""Values between operations: in which order one makes them, and in which another reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from stepgen.compile.converting import Way
from stepgen.ir.dtypes import ElementType
from stepgen.ir.itensor import Itensor


@dataclass(frozen=True)
class Joint:
    """A value between the operation that makes it and one that reads it.

    Attributes
    ----------
    value, reader : str
        Names of the operations; an input makes itself, and outputs are read by ``output``.
    made, read : Itensor
        The orders, of the rows of one tile of tokens.
    way : str
        How one becomes the other, the name of a `stepgen.compile.converting.Way`; of one that
        has the buffer of an earlier reader, ``shared buffer``.
    bits : int
        Of on-chip memory that it takes.
    why : str
        What it does, in words.
    shared : int
        Bits of a buffer that an earlier reader has.
    """

    value: str
    reader: str
    made: Itensor
    read: Itensor
    way: str
    bits: int
    why: str
    shared: int = 0

    def __str__(self) -> str:
        return (
            f"{self.value} to {self.reader}: {self.made} becomes {self.read}: {self.way}, "
            f"{self.bits:,} bits; {self.why}"
        )


OUTPUT: Final = "output"
"""The reader of what a program gives."""

Note: TypeAlias = Callable[[Itensor, Itensor, Way, bool], None]
"""Keeps in which order a value is made and read, the way, and whether its buffer is shared."""


def in_slices(rows: int, cols: int, count: int, element: ElementType, times: int = 1) -> Itensor:
    """The order of rows that come in so many slices of columns.

    Parameters
    ----------
    rows, cols : int
        Of a slice.
    count : int
        Of the slices of a row; 1 of whole rows.
    element : ElementType
    times : int
        How often all of them come.
    """
    again, walked = [(times, 1)] * (times > 1), [(count, cols)] * (count > 1)
    return Itensor((rows, cols), element, [*again, *walked], ((), (len(again),) * len(walked)))
