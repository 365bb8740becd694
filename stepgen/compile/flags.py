"""Flags in off-chip memory: units that access it take and make tiles, and flags are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepgen.hw.units.as_scalar.params import AsScalar
from stepgen.hw.units.as_tile.params import AsTile
from stepgen.ir.dtypes import FLAG, bool_
from stepgen.ir.stream import Node

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering

AS_TILE = AsTile(bool_.name, bool_.name, 1)


def tiles_in(node: Node, to: Lowering, index: int) -> str:
    """The channel of an input of tiles; flags become tiles of one flag."""
    x = node.inputs[index]
    if x.dtype != FLAG:
        return to.input(node, index)
    made = to.link(node, AS_TILE.kind, x, AS_TILE.extents(to.extents(node, x)), tiled=True)
    to.unit(f"{node.name}_{AS_TILE.kind}", AS_TILE, x=to.input(node, index), y=made)
    return made


def tiles_out(node: Node, to: Lowering) -> str:
    """The channel for the tiles of a node's output; of one flag they become flags."""
    (y,) = node.outputs
    if y.dtype != FLAG:
        return to.output(node)
    tiles = to.link(node, "tiles", y, AS_TILE.extents(to.extents(node, y)), tiled=True)
    to.unit(f"{node.name}_{AsScalar.kind}", AsScalar(), x=tiles, y=to.output(node))
    return tiles
