"""Facts of retile_col: the tiles of a chunk side by side, through a memory.

Ports
-----
x -> y; y comes out of the memory's pipeline.

Parameters
----------
count : int
    Tiles of a chunk.
slices : int
    Beats of one row of one tile of `x`.
rows : int
    Most rows of a tile.
level : int
    Wire level of `x` that closes a chunk: 2 + rank.
buffers : int
    1 or 2: whether a chunk can be written while the one before it is being read.
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


def delay(params: Mapping[str, Any], lanes: int) -> int:
    """Pipeline of the output in cycles."""
    return stages.BLOCK_RAM


def depth(params: Mapping[str, Any]) -> int:
    """Beats that the memory holds."""
    return max(2, int(params["buffers"]) * chunk_beats(params))


def row_beats(params: Mapping[str, Any]) -> int:
    """Beats of a row of the joined tile."""
    return int(params["count"] * params["slices"])


def chunk_beats(params: Mapping[str, Any]) -> int:
    """Most beats of a joined tile."""
    return int(params["rows"]) * row_beats(params)


def queue(params: Mapping[str, Any], rank: int) -> Channel:
    """The channel inside to the reading side: a beat per row that is complete, `rank` that of y."""
    return Channel("rows", 0, 0, rank, depth=min(64, max(2, params["buffers"] * params["rows"])))


def queues(unit: Unit, design: Design) -> list[Channel]:
    """The channels inside."""
    rank = design.channel[unit.outputs[0]].rank
    assert rank is not None
    return [queue(unit.params, rank)]


def memory_bits(params: Mapping[str, Any], design: Design) -> int:
    """Bits of the tile memory."""
    return depth(params) * design.lanes * int(params["bits"])


def parts(unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
    """Two: one writes tiles, the other reads a row once the last tile of its chunk has it."""
    x, y = unit.inputs[0], unit.outputs[0]
    params, rows = unit.params, f"{unit.name}.rows"
    buffers, waiting = params["buffers"], queue(params, 0).depth
    inside = Queue(extents[y], [(TILE_LEVELS, buffers), (1, waiting)])

    def write(paces: Paces) -> Paces:
        chunk = paces[x].moved(params["level"], TILE_LEVELS - params["level"])
        closed = chunk.replayed if params["count"] > 1 else ""
        return {rows: replace(chunk, opened=False, replayed="", closed=closed)}

    return [
        Part((x,), (rows,), write, queues={rows: inside}),
        Part((rows,), (y,), copied(y)),
    ]
