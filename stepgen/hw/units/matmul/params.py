"""Matmul: the matrix unit, multiplies each tile of x by a tile of w."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from ....ir.wire import TILE_LEVELS
from ...design import stages
from ...design.formats import Format, misfit
from ...design.pace import Extents, Paces, Part, Queue
from ...design.params import UnitParams
from ...design.table import Channel, Design, Unit

SPREAD = 1
"""Register stage that distributes a beat or an address to all memories."""
COMPLETE = 2
"""Most tiles of w that are loaded completely and still in use."""


@dataclass(frozen=True)
class Matmul(UnitParams):
    """The tiles of ``y``: each tile of ``x`` times a tile of ``w``. All have the same wire rank.

    Parameters
    ----------
    k, n : int
        Rows and columns of a tile of ``w``, multiples of the lanes; a tile of ``x`` is [M, k] with
        any M.
    in_bits, out_bits : int
        Bits of an element of ``x`` and ``w``, and of ``y``.
    stops : bool
        Whether the tiles of ``w`` have the same stops as those of ``x``, which is then checked.
    """

    k: int
    n: int
    in_bits: int
    out_bits: int
    stops: bool

    kind: ClassVar = "matmul"
    weights: ClassVar = "w"
    main: ClassVar = "compute"
    inputs: ClassVar = ("x", "w")
    outputs: ClassVar = ("y",)

    @property
    def sum_bits(self) -> int:
        """Bits of an accumulator: those of a sum of K products, at most an output's width."""
        return min(self.k.bit_length() + 2 * self.in_bits - 1, self.out_bits)

    def slices(self, lanes: int) -> tuple[int, int]:
        """Slices of a tile along K and along N."""
        return self.k // lanes, self.n // lanes

    def problem(self, unit: Unit, design: Design) -> str | None:
        lanes, rank = design.lanes, design.channel[unit.inputs["x"]].rank
        if min(self.k, self.n) < 1 or self.k % lanes or self.n % lanes:
            return (
                f"the rows and columns of a weight tile must be multiples of {lanes} lanes, "
                f"not {self.k} and {self.n}"
            )
        if min(self.in_bits, self.out_bits) < 1:
            return f"elements need at least 1 bit, not {self.in_bits} and {self.out_bits}"
        if rank is None or rank < TILE_LEVELS:
            return f"the rank of x must be at least {TILE_LEVELS}, not {rank}"
        x = Format(lanes, self.in_bits, rank)
        y = Format(lanes, self.out_bits, rank, self.delay(lanes))
        return misfit(unit, design, x=x, w=x, y=y)

    def delay(self, lanes: int) -> int:
        """Cycles from a step to its sums: distribute, read weights, multiply, add, accumulate."""
        tree = (lanes - 1).bit_length()  # a stage per level of the adder tree
        return SPREAD + stages.BLOCK_RAM + stages.MULTIPLIER + tree + 1

    def queues(self, unit: Unit, design: Design) -> list[Channel]:
        """From the loading to the computing actor: one beat per complete tile."""
        rank = design.channel[unit.inputs["w"]].rank
        return [Channel("tiles", 0, 0, rank, depth=COMPLETE)]

    def memory_bits(self, unit: Unit, design: Design) -> int:
        """Bits of two weight tiles, and of a row of accumulators except two, in registers."""
        weights = 2 * self.k * self.n * self.in_bits
        behind = max(0, self.n - 2 * design.lanes)
        return weights + behind * self.sum_bits

    def multipliers(self, design: Design) -> int:
        """Hardware multipliers: a slice of ``x`` times a block of ``w`` per cycle."""
        return design.lanes * design.lanes

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """Two: one loads tiles of w, the other computes once a tile is complete."""
        x, w, y = unit.inputs["x"], unit.inputs["w"], unit.outputs["y"]
        loaded = f"{unit.name}.tiles"
        dims = extents[w]
        queue = Queue(dims, [(TILE_LEVELS, COMPLETE)])

        def load(paces: Paces) -> Paces:
            tile = paces[w].moved(TILE_LEVELS, 0)
            whole = loaded if tile.count(dims, TILE_LEVELS) == 1 else ""
            return {loaded: replace(tile, opened=False, closed=whole)}

        def compute(paces: Paces) -> Paces:
            rows, tile = paces.get(x), paces.get(loaded)
            main = tile if rows is None else rows.moved(1, 0)
            assert main is not None
            both = [p for p in (rows, tile) if p is not None]
            return {y: replace(main.after(*both), opened=False)}

        meets = {x: TILE_LEVELS, loaded: TILE_LEVELS}
        return [
            Part((w,), (loaded,), load, queues={loaded: queue}),
            Part((x, loaded), (y,), compute, meets=meets),
        ]
