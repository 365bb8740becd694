"""Facts of flatten: neighbouring dims become one.

Ports
-----
x -> y

Parameters
----------
lo, hi : int
    Wire levels: the groups of level `lo` up to those below level ``hi + 1`` become one dim.
hold : bool
    Whether inner dims may be empty below an outer one, so that the last beat of an inner group must
    wait for what follows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from ..design import Unit
from ..sizing.pace import Extents, Paces, Part


def parts(unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
    """One; empty inner groups vanish, and with `hold` a beat may wait until an outer one ends."""
    lo, hi, held = (unit.params[name] for name in ("lo", "hi", "hold"))
    dims = extents[unit.inputs[0]]
    vanish = any(dim.may_be_empty for dim in dims[lo:hi])

    def follow(paces: Paces) -> Paces:
        (x,) = paces.values()
        if x.level > hi:
            y = replace(x.moved(hi, lo - hi), opened=x.opened and not held)
        else:
            y = replace(
                x,
                level=min(x.level, lo),
                groups=x.count(dims, lo) if x.level > lo else x.groups,
                sparse=x.sparse or vanish,
                lag=math.inf if held else x.lag,
                opened=x.opened and not vanish,
                prompt=x.prompt and not held,
            )
        return {unit.outputs[0]: y}

    return [Part(unit.inputs, unit.outputs, follow)]
