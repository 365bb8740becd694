"""retile_row: the tiles of a chunk put below one another as one tile."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepgen.ir.errors import StepError
from stepgen.semantics.meaning import Meaning, Setting, say
from stepgen.semantics.numbers import DTYPES, Array


class RetileRow(Meaning):
    """The state is the list of tiles so far."""

    def start(self, at: Setting, rows: int, cols: int, init: float | None) -> Any:
        """No tiles."""
        return []

    def update(self, at: Setting, state: Any, *tiles: Array) -> Any:
        """One more tile; its cols must be those of the others."""
        if state and state[0].shape[1] != tiles[0].shape[1]:
            raise StepError(
                f"{at.function} can't join tiles of {say(state[0])} and {say(tiles[0])}, "
                "whose cols differ"
            )
        state.append(tiles[0])
        return state

    def finish(self, at: Setting, state: Any) -> Array:
        """All tiles as one."""
        return np.concatenate(state, axis=0)

    def empty(self, at: Setting, init: float | None) -> Array:
        """A tile without rows."""
        cols = at.tile.cols.static
        if cols is None:
            raise StepError(f"{at.function} folds an empty chunk, and its cols are not known")
        return np.zeros((0, cols), DTYPES[at.element])
