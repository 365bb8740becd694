"""tile_addresses: where the tiles of the one that is named lie."""

from __future__ import annotations

import numpy as np

from stepgen.ir.errors import StepError
from stepgen.semantics.meaning import Meaning, Setting
from stepgen.semantics.numbers import DTYPES, Array


class TileAddresses(Meaning):
    """Addresses are the numbers of tiles."""

    def stream(self, at: Setting, element: Array) -> list[Array]:
        """``count`` scalars.

        Raises
        ------
        StepError
            If a selector has not exactly one bit set.
        """
        count = at.function.parameters()["count"]
        if element.ndim == 1:
            if element.sum() != 1:
                raise StepError(
                    f"{at.function} needs one-hot selectors, not one with {int(element.sum())} of "
                    f"{len(element)} bits set"
                )
            first = int(element.argmax()) * count
        else:
            first = int(element[0, 0]) * count
        return [np.full((1, 1), first + i, DTYPES["address"]) for i in range(count)]
