"""retile_streamify: a tile cut into its rows or columns."""

from __future__ import annotations

from stepgen.semantics.meaning import Meaning, Setting
from stepgen.semantics.numbers import Array


class RetileStreamify(Meaning):
    """The pieces lie in the tile's own order."""

    def stream(self, at: Setting, element: Array) -> list[Array]:
        """Rows ``[1, C]`` or columns ``[R, 1]``."""
        if at.function.parameters()["axis"] == "row":
            return [element[i : i + 1] for i in range(element.shape[0])]
        return [element[:, i : i + 1] for i in range(element.shape[1])]
