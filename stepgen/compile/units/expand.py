"""Facts of expand: each tile repeated, from a memory.

Ports
-----
x [, ref] -> y; y comes out of the memory's pipeline.

Parameters
----------
count : int or None
    Times that each tile is repeated; None where `ref` says it.
level : int
    Wire level of `x` that closes an element: 2 + the number of its innermost dims of extent 1
    (2 + 1 with `count`). Level k of ref is level ``2 + k`` of `y`.
ref_base : int
    Wire level that closes an element of `ref`: 2 for tiles, 0 for selectors and flags.
capacity : int
    Beats of the memory, at least those of the largest tile that is sent more than once; twice
    that to go from tile to tile without a gap.
bits : int
    Bits of an element.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...ir.wire import TILE_LEVELS
from .. import stages
from ..design import Channel, Design, Unit
from ..sizing.pace import Extents, Paces, Part, Queue, copied

ENDS = 16
"""Tiles whose last beats the reading side knows ahead."""


def delay(params: Mapping[str, Any], lanes: int) -> int:
    """Pipeline of the output in cycles."""
    return stages.BLOCK_RAM


def width(params: Mapping[str, Any], lanes: int) -> int:
    """Bits of a word of the memory: a beat and whether it ends a row."""
    return lanes * int(params["bits"]) + 1


def ends(params: Mapping[str, Any], rank: int) -> Channel:
    """The channel inside that tells the reading side where tiles end."""
    address_bits = max(1, (params["capacity"] - 1).bit_length())
    return Channel("ends", 1, address_bits, rank, depth=max(2, min(ENDS, params["capacity"])))


def elements(params: Mapping[str, Any], rank: int) -> Channel:
    """The channel inside with one beat per element of a `ref` of wire rank `rank`."""
    return Channel("elements", 0, 0, rank - int(params["ref_base"]))


def queues(unit: Unit, design: Design) -> list[Channel]:
    """The channels inside."""
    made = [ends(unit.params, _rank(unit, design, 0))]
    if unit.params["ref_base"]:
        made.append(elements(unit.params, _rank(unit, design, 1)))
    return made


def _rank(unit: Unit, design: Design, index: int) -> int:
    rank = design.channel[unit.inputs[index]].rank
    assert rank is not None
    return rank


def memory_bits(params: Mapping[str, Any], design: Design) -> int:
    """Bits of the replay memory."""
    return int(params["capacity"]) * width(params, design.lanes)


def parts(unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
    """Two: one fills the ring, the other reads it, from the second copy on a whole tile."""
    x, *refs = unit.inputs
    (y,) = unit.outputs
    params, ring = unit.params, f"{unit.name}.ring"
    dims = extents[x]
    announced = ends(params, len(dims) - 1).depth
    queue = Queue(dims, [(0, params["capacity"]), (TILE_LEVELS, announced)])
    write = Part((x,), (ring,), copied(ring), queues={ring: queue})
    level = params["level"]

    def repeat(paces: Paces) -> Paces:
        tile = paces[ring].moved(level, 0)
        copies = params["count"] > 1 and tile.count(dims, TILE_LEVELS) == 1
        return {y: replace(tile, replayed=ring if copies else "")}

    def follow(paces: Paces) -> Paces:
        base = params["ref_base"]
        tile, ref = paces.get(ring), paces.get(refs[0])
        told = None if ref is None else ref.moved(base, TILE_LEVELS - base)
        tile = None if tile is None else tile.moved(level, 0)
        main = told if told is not None else tile
        assert main is not None
        both = [p for p in (told, tile) if p is not None]
        return {y: replace(main.after(*both), opened=False, replayed="")}

    if not refs:
        return [write, Part((ring,), unit.outputs, repeat)]
    meets = {ring: level, refs[0]: params["ref_base"] + level - TILE_LEVELS}
    return [write, Part((ring, *refs), unit.outputs, follow, meets=meets)]
