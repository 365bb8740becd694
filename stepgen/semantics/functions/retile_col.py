"""retile_col: the tiles of a chunk put beside one another as one tile."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepgen.ir.errors import StepError
from stepgen.semantics.meaning import Meaning, Setting, say
from stepgen.semantics.numbers import DTYPES, Array


class RetileCol(Meaning):
    """The state is the list of tiles so far."""

    def start(self, at: Setting, rows: int, cols: int, init: float | None) -> Any:
        """No tiles."""
        return []

    def update(self, at: Setting, state: Any, *tiles: Array) -> Any:
        """One more tile; its rows must be those of the others."""
        if state and state[0].shape[0] != tiles[0].shape[0]:
            raise StepError(
                f"{at.function} can't join tiles of {say(state[0])} and {say(tiles[0])}, "
                "whose rows differ"
            )
        state.append(tiles[0])
        return state

    def finish(self, at: Setting, state: Any) -> Array:
        """All tiles as one."""
        return np.concatenate(state, axis=1)

    def empty(self, at: Setting, init: float | None) -> Array:
        """A tile without cols."""
        rows = at.tile.rows.static
        if rows is None:
            raise StepError(f"{at.function} folds an empty chunk, and its rows are not known")
        return np.zeros((rows, 0), DTYPES[at.element])
