"""A memory of a unit as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Ram:
    """A memory that has block RAM as far as it has enough rows, and a registered output.

    Parameters
    ----------
    bits, rows : int
        Bits of a row, and rows.
    constant : bool
        Whether it is a table of constants.
    """

    bits: int
    rows: int
    constant: bool = False
