"""Facts of promote: a new dim of extent 1.

Ports
-----
x -> y

Parameters
----------
level : int
    Wire level above which the dim goes: its groups each become a group of the new dim.
outermost : bool
    Whether the new dim counts all that there is: its end is known with ``DONE`` alone, so the last
    beat is held back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from ...ir.wire import TILE_LEVELS
from ..design import Unit
from ..sizing.pace import Extents, Paces, Part


def parts(unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
    """One; a beat that may be the last of all leaves with the next."""
    level, held = unit.params["level"], unit.params["outermost"]

    def follow(paces: Paces) -> Paces:
        (x,) = paces.values()
        if not held:
            y = x.moved(level, 1) if x.level >= level else x
            y = replace(y, replayed=y.replayed if level >= TILE_LEVELS else "")
        else:
            y = replace(x, lag=math.inf if x.sparse else x.lag + 1, opened=False, prompt=False)
        return {unit.outputs[0]: y}

    return [Part(unit.inputs, unit.outputs, follow)]
