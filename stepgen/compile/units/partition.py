"""Facts of partition: one stream to several outputs, by selector.

Ports
-----
x, sel -> o_0, o_1, …

Parameters
----------
level : int
    Wire level of `x` that closes a chunk (tiles: 2 + rank). Level ``level + k`` of `x`
    corresponds to level k of `sel`; the outputs have wire rank `level`.
surplus : bool
    Whether selectors may be left when `x` has ended: they are dropped. On a cycle they are, since
    the loop goes on naming consumers until it hears of the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..design import Unit
from ..sizing.pace import Extents, Pace, Paces, Part, copied


def parts(unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
    """One; an epoch of several chunks, or of one, may send nothing to an output."""
    x_name, selectors = unit.inputs
    level = unit.params["level"]

    def routed(x: Pace, dims: Extents, base: int) -> Pace:
        if x.level > base:
            x = replace(x, groups=x.count(dims, base), level=base, opened=False, prompt=False)
        return replace(x.moved(0, level - base), sparse=True, replayed="")

    def follow(paces: Paces) -> Paces:
        x, sel = paces.get(x_name), paces.get(selectors)
        if x is not None:
            y = routed(x, extents[x_name], level).after(sel)
        else:
            assert sel is not None
            y = routed(sel, extents[selectors], 0)
        return copied(*unit.outputs)({x_name: y})

    return [
        Part(
            unit.inputs,
            unit.outputs,
            follow,
            meets={x_name: level},
            clock=x_name,
            start=lambda x: follow({x_name: x}),
        )
    ]
