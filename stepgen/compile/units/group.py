"""Facts of group: a dim of static extent in chunks, nothing to pad (Reshape of an outer dim).

Ports
-----
x -> y

Parameters
----------
level : int
    Wire level that closes an item of the dim: ``base level + dim``.
chunk : int
    Items of a group; the extent of the dim is a multiple of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..design import Unit
from ..sizing.pace import Extents, Paces, Part


def parts(unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
    """One, which holds nothing back."""
    level = unit.params["level"]

    def follow(paces: Paces) -> Paces:
        (x,) = paces.values()
        return {unit.outputs[0]: x.moved(level + 1, 1) if x.level > level else x}

    return [Part(unit.inputs, unit.outputs, follow)]
