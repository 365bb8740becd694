"""Values between operations: in which order one makes them, and in which another reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from ..compile.converting import Way
from ..ir.dtypes import ElementType
from ..ir.itensor import Itensor


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
        How one becomes the other, the name of a `stepgen.compile.converting.Way`.
    bits : int
        Of on-chip memory that it takes.
    why : str
        What it does, in words.
    """

    value: str
    reader: str
    made: Itensor
    read: Itensor
    way: str
    bits: int
    why: str


OUTPUT: Final = "output"
"""The reader of what a program gives."""

Note: TypeAlias = Callable[[Itensor, Itensor, Way], None]
"""Keeps that a value was made in one order and is read in another, and how that is done."""


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
