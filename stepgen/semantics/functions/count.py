"""count: how many elements a chunk has."""

from __future__ import annotations

from typing import Any

from stepgen.semantics.meaning import Meaning, Setting
from stepgen.semantics.numbers import DTYPES, Array


class Count(Meaning):
    """An empty chunk has none."""

    def extents(self, at: Setting, *tiles: Array) -> tuple[int, int]:
        """A scalar."""
        return 1, 1

    def update(self, at: Setting, state: Any, *tiles: Array) -> Any:
        """One more."""
        return state + DTYPES["address"].type(1)
