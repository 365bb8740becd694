"""The state of an Accum or a Scan."""

from __future__ import annotations

from typing import Any

from stepgen.ir.function import Folded
from stepgen.ir.setting import Setting
from stepgen.semantics.numbers import Array


class Fold:
    """The state of one node, for one chunk after the other.

    Parameters
    ----------
    function : Folded
        The function.
    at : Setting
        Its setting.
    init : number or None
        Value of every element of the initial state; None for the function's default.
    """

    def __init__(self, function: Folded, at: Setting, init: float | None) -> None:
        self._function, self._at, self._init = function, at, init
        self._state: Any = None

    def update(self, tiles: list[Array]) -> None:
        """Fold one more element.

        Raises
        ------
        StepError
            If its size differs from that of the elements before.
        """
        rows, cols = self._function.extents(*tiles)
        if self._state is None:
            self._state = self._function.start(self._at, rows, cols, self._init)
        self._state = self._function.update(self._at, self._state, *tiles)

    def tile(self) -> Array:
        """Return the state as a tile, without changing it.

        Raises
        ------
        StepError
            If no element was folded and the size of the state is not static.
        """
        if self._state is None:
            return self._function.empty(self._at, self._init)
        return self._function.finish(self._at, self._state)

    def reset(self) -> None:
        """Begin a new chunk."""
        self._state = None
