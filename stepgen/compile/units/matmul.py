"""Facts of the matrix unit: each tile of x times a tile of w.

Ports
-----
x, w -> y; y has a pipeline of `delay` cycles. All have the same wire rank.

Parameters
----------
k, n : int
    Rows and columns of a tile of `w`, multiples of the lanes; a tile of x is [M, k] with any M.
in_bits, out_bits : int
    Bits of an element of x and w, and of y.
stops : bool
    Whether a tile of w closes what that of x closes; not where it comes without those stops.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...ir.wire import TILE_LEVELS
from .. import stages
from ..design import Channel, Design, Unit
from ..sizing.pace import Extents, Paces, Part, Queue

SPREAD = 1
"""Stage in which a beat or an address travels to all the memories."""


def tree_stages(lanes: int) -> int:
    """Stages of the adder tree over `lanes` products, one adder each."""
    return (lanes - 1).bit_length()


def delay(params: Mapping[str, Any], lanes: int) -> int:
    """Cycles from a step to its sums: spread, read weights, multiply, add up, accumulate."""
    return SPREAD + stages.BLOCK_RAM + stages.MULTIPLIER + tree_stages(lanes) + 1


def slices(params: Mapping[str, Any], lanes: int) -> tuple[int, int]:
    """Slices of a tile along K and along N."""
    return int(params["k"]) // lanes, int(params["n"]) // lanes


def sum_bits(params: Mapping[str, Any]) -> int:
    """Bits of an accumulator: what K products can need, at most an output's width."""
    exact = int(params["k"]).bit_length() + 2 * int(params["in_bits"]) - 1
    return min(exact, int(params["out_bits"]))


def memory_bits(params: Mapping[str, Any], design: Design) -> int:
    """Bits of two weight tiles, and of a row of accumulators but the two in registers."""
    weights = 2 * params["k"] * params["n"] * params["in_bits"]
    behind = max(0, params["n"] - 2 * design.lanes)
    return int(weights + behind * sum_bits(params))


def queues(unit: Unit, design: Design) -> list[Channel]:
    """The channels inside."""
    rank = design.channel[unit.inputs[1]].rank
    assert rank is not None
    return [tiles(rank)]


def multipliers(params: Mapping[str, Any], lanes: int) -> int:
    """Hardware multipliers."""
    return lanes * lanes


def tiles(rank: int) -> Channel:
    """The channel inside, from loading to computing: one beat per tile that is complete."""
    return Channel("tiles", 0, 0, rank, depth=2)


def parts(unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
    """Two: one loads tiles of w, the other computes once a tile is complete."""
    x, w = unit.inputs
    loaded = f"{unit.name}.tiles"
    dims = extents[w]
    queue = Queue(dims, [(TILE_LEVELS, tiles(0).depth)])

    def load(paces: Paces) -> Paces:
        tile = paces[w].moved(TILE_LEVELS, 0)
        whole = loaded if tile.count(dims, TILE_LEVELS) == 1 else ""
        return {loaded: replace(tile, opened=False, closed=whole)}

    def compute(paces: Paces) -> Paces:
        rows, tile = paces.get(x), paces.get(loaded)
        main = tile if rows is None else rows.moved(1, 0)
        assert main is not None
        both = [p for p in (rows, tile) if p is not None]
        return {unit.outputs[0]: replace(main.after(*both), opened=False)}

    meets = {x: TILE_LEVELS, loaded: TILE_LEVELS}
    return [
        Part((w,), (loaded,), load, queues={loaded: queue}),
        Part((x, loaded), unit.outputs, compute, meets=meets),
    ]
