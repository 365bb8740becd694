"""Caches of a model between runs."""

from __future__ import annotations

from stepgen.frontend.weight import Array
from stepgen.ir.errors import StepError

Key = tuple[str, tuple[int, ...]]
"""An attention: name of the operation, number of the layer in each loop around it."""


class State:
    """Keys and values of the tokens so far, of every attention.

    A run appends its tokens, so prefill, decode and chunked prefill are runs of many, of one and of
    some tokens on one state.

    Parameters
    ----------
    capacity : int, optional
        Most tokens; without it there is no bound.

    Attributes
    ----------
    rows : int
        Tokens so far.
    caches : dict
        Keys [rows, heads, width] and values of each attention.
    """

    def __init__(self, capacity: int | None = None) -> None:
        self.capacity = capacity
        self.rows = 0
        self.caches: dict[Key, tuple[Array, Array]] = {}

    def check(self, tokens: int, model: str) -> None:
        """Check that there is room for more tokens.

        Raises
        ------
        StepError
            If the caches are full.
        """
        if self.capacity is not None:
            check_room(self.capacity, self.rows, tokens, model)


def check_room(
    capacity: int, rows: int, tokens: int, model: str, *, most: int | None = None
) -> None:
    """Check that caches which have some rows have room for more tokens.

    Parameters
    ----------
    capacity, rows, tokens : int
        Rows that the caches hold, that are there, and that are to come.
    model : str
        Its name, and which request it is.
    most : int, optional
        Tokens that the model takes, which no cache exceeds.

    Raises
    ------
    StepError
        If they are full.
    """
    if rows + tokens > capacity:
        remedy = f"a cache of {rows + tokens} would hold them"
        if most is not None and rows + tokens > most:
            remedy = f"the model takes {most} at most"
        raise StepError(
            f"{model}: its caches hold {capacity} tokens, {rows} are there and {tokens} more do "
            f"not fit; {remedy}"
        )
