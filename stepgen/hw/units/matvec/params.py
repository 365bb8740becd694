"""Matvec: a row times a tile of w, which streams through: the product unit of decode."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.arithmetic.sums import FEEDBACK, SUMMED, Summing
from stepgen.hw.design import stages
from stepgen.hw.design.block_rams import SHALLOW
from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extents, Paces, Part
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.ram import Ram
from stepgen.hw.design.table import Design, Unit
from stepgen.ir.dtypes import ELEMENTS, bf16
from stepgen.ir.wire import TILE_LEVELS

SPREAD = 2
"""From a slice of x to its read address: one cycle longer than to its write address."""
LEAST_TURNED = FEEDBACK
"""Least columns of tiles that are turned: each sum steps again after so many cycles."""
IN_REGISTERS = 2
"""Most slices of sums without a memory."""


@dataclass(frozen=True)
class Matvec(UnitParams):
    """``y`` ``[1, N]``: each row of ``x``, ``[1, K]``, times a tile of ``w``.

    Parameters
    ----------
    k, n : int
        A tile of ``x`` is [1, k], one of ``y`` [1, n]; the most of the one that is dynamic.
    element : str
        Element type of ``x`` and ``w``: int8, int16, or bf16 if tiles are transposed or turned;
        that of ``y`` is wide enough for sums.
    stops : bool
        Whether the tiles of ``w`` have the same stops as those of ``x``, which is then checked.
    transposed : bool
        Whether a tile of ``w`` is [n, k], instead of [k, n].
    folds : bool
        Whether the products of the tiles of an innermost group are summed up; not of tiles that are
        transposed.
    start : int
        Bit pattern of all sums before the first product of such a group.
    dynamic : bool
        Whether the rows of a tile of ``w`` are counted by stops. If it is transposed, elements of
        ``y`` leave one by one then. Otherwise elements of ``x`` come one by one, or in slices if it
        is turned.
    turned : bool
        Whether a tile [k, n] has a beat for each column of each L rows, as `TurnSlices` sends it;
        only of floats.
    tiles : int
        Most tiles of a group of floats, from which the bits of its sums follow.
    """

    k: int
    n: int
    element: str
    stops: bool
    transposed: bool = False
    folds: bool = False
    start: int = 0
    dynamic: bool = False
    turned: bool = False
    tiles: int = 1

    kind: ClassVar = "matvec"
    main: ClassVar = "multiply"
    inputs: ClassVar = ("x", "w")
    outputs: ClassVar = ("y",)

    @property
    def summing(self) -> Summing:
        """How it adds up."""
        element, starts = ELEMENTS[self.element], self.start != 0 if self.turned else self.folds
        return Summing(element, self.k * self.tiles, starts=starts)

    @property
    def of_floats(self) -> bool:
        """Whether it sums up bf16: L products at once, as the matrix unit does."""
        return self.element == bf16.name

    def slices(self, lanes: int) -> tuple[int, int]:
        """Slices of a tile along K and along N."""
        return -(-self.k // lanes), -(-self.n // lanes)

    def taken(self, lanes: int) -> int:
        """Elements in a beat of ``x``."""
        return 1 if self.dynamic and not (self.transposed or self.turned) else lanes

    def sent(self, lanes: int) -> int:
        """Elements in a beat of ``y``."""
        return 1 if self.dynamic and self.transposed else lanes

    def beats(self, lanes: int) -> tuple[int, int]:
        """Rows of a tile of ``w``, and beats of a row."""
        k_slices, n_slices = self.slices(lanes)
        if self.turned:
            return k_slices, self.n
        return (self.n, k_slices) if self.transposed else (self.k, n_slices)

    def sums(self, lanes: int) -> tuple[int, int]:
        """How many sums a step adds to, and how many steps it takes to the same ones."""
        if self.turned:
            return 1, self.n
        return (1, 1) if self.transposed else (lanes, self.slices(lanes)[1])

    def keeps_row(self, lanes: int) -> bool:
        """Whether a row of ``x`` is in memory: it is used again, and more than the beat at hand."""
        return self.transposed and self.slices(lanes)[0] > 1

    def problem(self, unit: Unit, design: Design) -> str | None:
        lanes, rank = design.lanes, design.channel[unit.inputs["x"]].rank
        if min(self.k, self.n) < 1:
            return f"products of [1,{self.k}] and [{self.k},{self.n}] are empty"
        if self.element not in (known := [element.name for element in SUMMED]):
            return f"it multiplies {' or '.join(known)}, not {self.element}"
        if self.of_floats and not (self.transposed or self.turned):
            return (
                f"tiles of {self.element} must be transposed or turned: slices of K are summed up "
                "at once"
            )
        if self.turned and (self.transposed or not self.of_floats or self.n < LEAST_TURNED):
            return f"only tiles of bf16, of at least {LEAST_TURNED} columns, are turned"
        if rank is None or rank < TILE_LEVELS + self.folds:
            return f"the rank of x must be at least {TILE_LEVELS + self.folds}, not {rank}"
        if self.folds and (self.transposed or not self.stops):
            return "it sums up tiles that are not transposed and have the stops of x"
        if self.dynamic and not self.stops:
            return "only tiles that have the stops of x may have any number of rows"
        if self.tiles < 1:
            return f"a group needs at least 1 tile, not {self.tiles}"
        if self.start and not self.folds:
            return "only sums of groups start at a number"
        w = Format(lanes, self.summing.element.bits, rank)
        x = w._replace(lanes=self.taken(lanes))
        y = Format(self.sent(lanes), self.summing.to.bits, rank - self.folds, self.delay(lanes))
        return misfit(unit, design, x=x, w=w, y=y)

    def reading(self, lanes: int) -> int:
        """Cycles from a step until its slice of ``x`` is there."""
        return SPREAD + stages.BLOCK_RAM if self.keeps_row(lanes) else 0

    def summed(self, lanes: int) -> int:
        """Cycles from a step to its sums."""
        if self.turned:
            return self.summing.stages(lanes)
        if self.of_floats:
            return self.reading(lanes) + self.summing.stages_at_once(lanes)
        tree = (lanes - 1).bit_length() if self.transposed else 0
        return self.reading(lanes) + stages.MULTIPLIER + tree + 1

    def delay(self, lanes: int) -> int:
        """Cycles from a step to its sums, where it has one sum to those of all lanes."""
        return self.summed(lanes) + (self.transposed or self.turned)

    def rams(self, unit: Unit, design: Design) -> list[Ram]:
        """A row of ``x`` and a row of sums, where there are memories for them."""
        lanes, (width, rows) = design.lanes, self.sums(design.lanes)
        row = Ram(lanes * self.summing.element.bits, self.slices(lanes)[0])
        sums = Ram(width * self.summing.bits, rows)
        deep = rows > SHALLOW and not self.turned
        return [*self.keeps_row(lanes) * [row], *deep * [sums]]

    def value_bits(self, port: str) -> int:
        """See `UnitParams`: those of sums, if they are integers."""
        return self.summing.value_bits if port == "y" else 0

    def memory_bits(self, unit: Unit, design: Design) -> int:
        """Bits of these, also of sums in LUT RAM."""
        width, rows = self.sums(design.lanes)
        if self.turned:
            return super().memory_bits(unit, design) + rows * self.summing.state_bits
        small = width * rows * self.summing.bits if IN_REGISTERS < rows <= SHALLOW else 0
        return super().memory_bits(unit, design) + small

    def multipliers(self, design: Design) -> int:
        """Hardware multipliers: a beat of ``w`` per cycle."""
        return design.lanes

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One, which sends nothing of a row before the tile of w is there, or its first rows."""
        x, w, y = unit.inputs["x"], unit.inputs["w"], unit.outputs["y"]
        turn = extents[w][0].bound  # beats of w for one of x
        if not (self.turned or (self.dynamic and not self.transposed)):
            turn = math.ceil(turn * extents[w][1].bound / extents[x][0].bound)

        def follow(paces: Paces) -> Paces:
            known = [paces[c].moved(TILE_LEVELS, 0) for c in (x, w) if c in paces]
            main = known[0].after(*known)
            if self.folds:
                main = main.moved(TILE_LEVELS + 1, -1)
            return {y: replace(main, opened=False, prompt=False, replayed="")}

        meets = dict.fromkeys((x, w), TILE_LEVELS)
        return [Part((x, w), (y,), follow, meets=meets, turn=int(turn))]
