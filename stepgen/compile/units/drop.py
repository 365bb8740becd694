"""Facts of drop: a filter for elements that are flagged.

Ports
-----
x, flags -> y; x is a stream of tiles, `flags` has one beat (1 lane of 1 bit) per element of x, 1
drops it. The stops of `flags`, its bare beats included, mean nothing.

Parameters
----------
hold : bool
    Whether groups close at wire level 3 and above, so that the last kept element of a group must
    wait for what follows. Not needed for a stream of rank 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from ...ir.wire import TILE_LEVELS
from ..design import Unit
from ..sizing.pace import Extents, Paces, Part


def parts(unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
    """One; with `hold` the last kept element of a group leaves with the group's end."""
    x_name, flags_name = unit.inputs
    held = unit.params["hold"]

    def follow(paces: Paces) -> Paces:
        x, flags = paces.get(x_name), paces.get(flags_name)
        told = None if flags is None else flags.moved(0, TILE_LEVELS)
        y = told if x is None else x.moved(TILE_LEVELS, 0).after(told)
        assert y is not None
        if held and y.level == TILE_LEVELS:
            y = replace(y, sparse=True, lag=math.inf, prompt=False)
        y = replace(y, sparse=y.sparse or not held, opened=y.opened and not held, replayed="")
        return {unit.outputs[0]: y}

    return [Part(unit.inputs, unit.outputs, follow, meets={x_name: TILE_LEVELS})]
