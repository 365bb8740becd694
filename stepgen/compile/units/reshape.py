"""Facts of reshape: the innermost dim in chunks, short groups padded.

Ports
-----
x -> y [, padding]; `padding` has one beat (1 lane of 1 bit) per element of `y`, of wire rank
``rank of y - level``.

Parameters
----------
level : int
    Wire level that closes an element: 2 for tiles, 0 for selectors and flags.
chunk : int
    Extent of the new innermost dim.
rows, slices : int
    Rows of a padding element and beats of one of its rows; 1 and 1 where elements are no tiles.
    0 rows: the padding element is an empty tile.
pad : int
    Bits of one lane of the padding, negative numbers in two's complement.
prompt : bool
    Whether a flag goes with the first beat of its element, for consumers that look at no stops: all
    its stops are then 0, and empty groups have no flag. Else it goes with the last beat.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from ..design import Unit
from ..sizing.pace import UNALIGNED, Extents, Pace, Paces, Part, span


def parts(unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
    """One; padding comes with the end of a group, so an element may have to wait for its chunk."""
    level, chunk, prompt = (unit.params[name] for name in ("level", "chunk", "prompt"))
    y_dims = extents[unit.outputs[0]]

    def data(x: Pace) -> Pace:
        x = replace(x, replayed="")
        if x.level > level:
            return x.moved(level + 1, 1)
        padding = (chunk - 1) * span(y_dims, x.level, level)
        late = math.inf if x.sparse else x.lag + 1
        return replace(
            x,
            groups=x.groups + padding,
            lag=late if chunk > 1 else x.lag,
            prompt=x.prompt and chunk == 1,
        )

    def flags(x: Pace, y: Pace) -> Pace:
        one = x.level == level and x.groups == 1 and chunk == 1
        told = y.moved(level, -level)
        return replace(
            told,
            opened=x.prompt or (prompt and x.opened),
            prompt=y.prompt or (prompt and x.opened and one),
        )

    def follow(paces: Paces) -> Paces:
        (x,) = paces.values()
        y = data(x)
        both = (y, flags(x, y)) if x.level >= level else (y, UNALIGNED)
        return dict(zip(unit.outputs, both, strict=False))

    def start(y: Pace) -> Paces:
        told = UNALIGNED
        if y.level >= level:
            told = replace(
                y.moved(level, -level), opened=prompt, prompt=prompt and y.level == level
            )
        return dict(zip(unit.outputs, (y, told), strict=False))

    return [Part(unit.inputs, unit.outputs, follow, start=start)]
