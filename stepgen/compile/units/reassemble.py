"""Facts of reassemble: chunks of several streams become one, by selector.

Ports
-----
x_0, x_1, …, sel -> y

Parameters
----------
level : int
    Wire level of a chunk (tiles: 2 + rank), the wire rank of every x. Level k of `sel` becomes
    level ``level + 1 + k`` of `y`.
order : str
    ``"index"``: the selected inputs in ascending order. ``"arrival"``: whose chunk is there first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..design import Unit
from ..sizing.pace import UNALIGNED, Extents, Paces, Part


def parts(unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
    """One, which takes a selector before the chunks that it names."""
    *xs, selectors = unit.inputs
    level = unit.params["level"]

    def follow(paces: Paces) -> Paces:
        sel = paces.get(selectors)
        if sel is None:
            return {unit.outputs[0]: UNALIGNED}
        chunks = [paces[x].moved(level, 1) for x in xs if x in paces]
        y = replace(sel.moved(0, level + 1).after(*chunks), opened=False, replayed="")
        return {unit.outputs[0]: y}

    return [
        Part(
            unit.inputs,
            unit.outputs,
            follow,
            meets=dict.fromkeys(xs, level),
            keeps={selectors: 1},
        )
    ]
