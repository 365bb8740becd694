"""The state of an Accum or a Scan."""

from __future__ import annotations

from typing import Any

from stepgen.ir.function import Folded, Setting
from stepgen.semantics.numbers import Array


class Fold:
    """One state, chunk after chunk.

    Parameters
    ----------
    function : Folded
        What is applied.
    at : Setting
        Where.
    init : number or None
        Value of every element of the first state; None leaves it to the function.
    """

    def __init__(self, function: Folded, at: Setting, init: float | None) -> None:
        self._function, self._at, self._init = function, at, init
        self._state: Any = None

    def update(self, tiles: list[Array]) -> None:
        """Take one more element in.

        Raises
        ------
        StepError
            If its size differs from what was folded before.
        """
        rows, cols = self._function.extents(*tiles)
        if self._state is None:
            self._state = self._function.start(self._at, rows, cols, self._init)
        self._state = self._function.update(self._at, self._state, *tiles)

    def tile(self) -> Array:
        """Return the state as a tile; what was folded before stays.

        Raises
        ------
        StepError
            If nothing was folded and the size of the state is decided at run time.
        """
        if self._state is None:
            return self._function.empty(self._at, self._init)
        return self._function.finish(self._at, self._state)

    def reset(self) -> None:
        """Begin a new chunk."""
        self._state = None
