"""Matmul: the matrix unit, multiplies each tile of x by a tile of w, and adds up."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.arithmetic.sums import MULTIPLIED, PRODUCT, STATE_BITS, Summing
from stepgen.hw.design import stages
from stepgen.hw.design.block_rams import SHALLOW
from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extents, Paces, Part, Queue
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.ram import Ram
from stepgen.hw.design.table import Channel, Design, Unit
from stepgen.hw.units.axi.params import words
from stepgen.ir.dtypes import ELEMENTS, bf16, f32
from stepgen.ir.wire import TILE_LEVELS

__all__ = ["COMPLETE", "MULTIPLIED", "SPREAD", "Matmul", "half"]

SPREAD = 1
"""Register stage that distributes a beat or an address to all memories."""
ROWS_OF_X = 8
"""Slices of ``x`` that there is memory for: two that wait, and those whose weights are read."""
FEEDBACK_OF_ROWS = 6
"""Least cycles between two steps of a row's sum where rows have any number of sums."""
ALTERNATING = 2
"""Slices of sums of integers that two registers hold."""
COMPLETE = 2
"""Most tiles of w that are loaded completely and still in use, and rows."""


def half(slices: int) -> int:
    """Slices that half of a memory for two rows has room for: a power of two."""
    return 1 << (slices - 1).bit_length()


@dataclass(frozen=True)
class Matmul(UnitParams):
    """The tiles of ``y``: each tile of ``x`` times a tile of ``w``. All have the same wire rank.

    Sums start at zero, at a row that comes with each tile, or at a number.

    Parameters
    ----------
    k, n : int
        A tile of ``x`` is [M, k] with any M, one of ``y`` [M, n].
    dynamic : str
        Which of ``k`` and ``n`` are the most that there is memory for, while each tile of ``w`` has
        its own: "", "k", "n" or "kn". Rows of ``x`` end with zeros then, as do those of ``w`` along
        K; where N is dynamic one lane more of ``y``, and of a ``w`` that is not transposed, says
        how many elements a slice lacks, unless L is 1.
    element : str
        Element type of ``x`` and ``w``, int8, int16, bf16 or f32; that of ``y`` is wide
        enough for sums.
    stops : bool
        Whether the tiles of ``w`` have the same stops as those of ``x``, which is then checked.
    rows : int
        0 if the sums of each tile start anew. Otherwise the products of the tiles of a group are
        summed up: most rows of a tile. Such a group's tiles have the same number of rows.
    fixed : bool
        Whether all tiles have that many rows.
    tiles : int
        Most tiles of such a group, from which the bits of its sums follow.
    level : int
        0 if the sums of each innermost group are sent when it ends. Otherwise they are sent after
        each tile, and groups end at this wire level of ``x``.
    start : int
        Bit pattern of all sums before the first product of a group.
    bias : bool
        Whether the rows of ``b``, one with each tile of ``w``, are the start of its sums.
    transposed : bool
        Whether a tile of ``w`` is [n, k], instead of [k, n].
    buffers : int
        Tiles of ``w`` that there is memory for, 1 or 2; with 2, one is loaded while another is
        used.
    credits : bool
        Whether a beat at ``free`` shows that a tile of ``w``, or what came in place of one, has
        been used up.
    """

    k: int
    n: int
    element: str
    stops: bool
    rows: int = 0
    fixed: bool = False
    tiles: int = 1
    level: int = 0
    start: int = 0
    bias: bool = False
    transposed: bool = False
    buffers: int = COMPLETE
    dynamic: str = ""
    credits: bool = False

    kind: ClassVar = "matmul"
    weights: ClassVar = "w"
    main: ClassVar = "compute"

    @property
    def inputs(self) -> tuple[str, ...]:
        """The factors, and where sums start."""
        return ("x", "w", "b") if self.bias else ("x", "w")

    @property
    def outputs(self) -> tuple[str, ...]:
        """The products, and a signal for each used tile."""
        return ("y", "free") if self.credits else ("y",)

    @property
    def summing(self) -> Summing:
        """How it adds up."""
        products = self.k * max(1, self.tiles)
        return Summing(ELEMENTS[self.element], products, starts=self.bias or self.start != 0)

    @property
    def any_k(self) -> bool:
        """Whether each tile has its own K."""
        return "k" in self.dynamic

    @property
    def any_n(self) -> bool:
        """Whether each tile has its own N."""
        return "n" in self.dynamic

    def k_inside(self, lanes: int) -> bool:
        """Whether it makes a slice of sums after the other, and keeps rows of ``x`` for that.

        Else it takes all slices of sums in turn for each slice of ``x``: a sum of floats can't step
        in every cycle; where the tiles of a group are summed up all its sums are kept anyway; and
        one or two slices of sums take less than two rows of ``x``.
        """
        return self._keeps_rows(self.slices(lanes)[1])

    def _keeps_rows(self, n_slices: float) -> bool:
        if self.summing.indexed or self.rows:
            return False
        return self.any_n or n_slices > ALTERNATING

    def in_place(self, lanes: int) -> bool:
        """Whether only one slice of sums of integers is kept at a time."""
        if self.summing.indexed or self.rows:
            return False
        return self.k_inside(lanes) or self.slices(lanes)[1] == 1

    def counting(self, lanes: int) -> tuple[bool, bool]:
        """Whether one lane of ``w``, and one of ``y``, says what a slice lacks."""
        counts = self.any_n and lanes > 1
        return counts and not self.transposed, counts

    @property
    def folds(self) -> bool:
        """Whether a group becomes one tile."""
        return self.rows > 0 and not self.level

    def slices(self, lanes: int) -> tuple[int, int]:
        """Slices of a tile along K and along N."""
        return -(-self.k // lanes), -(-self.n // lanes)

    def beats(self, lanes: int) -> tuple[int, int]:
        """Rows of a tile of ``w``, and beats of a row."""
        k_slices, n_slices = self.slices(lanes)
        return (self.n, k_slices) if self.transposed else (self.k, n_slices)

    def words(self, lanes: int) -> int:
        """Blocks of ``w`` that there is memory for; a memory has two words at least."""
        return max(2, self.buffers * math.prod(self.slices(lanes)))

    def turn(self, lanes: int) -> int:
        """Least cycles from a slice of ``x`` to the row's next: a step per slice of N at least."""
        return self.summing.turn(self.slices(lanes)[1])

    @property
    def padding(self) -> int:
        """What ``x`` is behind its row's end: of f32 -0, whose product with 0 changes no sum."""
        return 1 << f32.bits - 1 if self.element == f32.name else 0

    @property
    def rest(self) -> int:
        """Least cycles between two steps of a sum of a row, where it is one of any number."""
        waits = self.any_n and (self.summing.indexed or self.rows)
        return max(FEEDBACK_OF_ROWS, self.summing.turn(1)) if waits else 0

    def in_turn(self, lanes: int) -> int:
        """Slices of sums of integers in a memory that is read ahead; 0 if none are in memory."""
        return max(3, self.sums(lanes)) if self.rows and not self.summing.indexed else 0

    def deep(self, lanes: int) -> bool:
        """Whether block RAM holds the sums of a row of floats: many, and of a fixed number."""
        return self.summing.indexed and not self.any_n and self.slices(lanes)[1] > SHALLOW

    def sums(self, lanes: int) -> int:
        """Slices of sums that are kept."""
        return max(1, self.rows) * self.slices(lanes)[1]

    def problem(self, unit: Unit, design: Design) -> str | None:
        lanes, rank = design.lanes, design.channel[unit.inputs["x"]].rank
        if min(self.k, self.n) < 1:
            return f"products of [M,{self.k}] and [{self.k},{self.n}] are empty"
        if self.element not in (known := [element.name for element in MULTIPLIED]):
            return f"it multiplies {' or '.join(known)}, not {self.element}"
        if rank is None or rank < TILE_LEVELS:
            return f"the rank of x must be at least {TILE_LEVELS}, not {rank}"
        if self.rows and not (self.stops and (self.summing.indexed or self.any_n)):
            return f"it sums up tiles of floats that have the stops of x, not of {self.element}"
        if self.rows and rank == TILE_LEVELS:
            return f"the rank of x must be at least {TILE_LEVELS + 1} to sum up tiles, not {rank}"
        if self.level and not (self.rows and TILE_LEVELS < self.level <= rank):
            return f"sums of groups of level {self.level} can't be sent after each tile"
        if self.tiles < 1:
            return f"a group needs at least 1 tile, not {self.tiles}"
        if self.bias and (self.rows or self.start):
            return "sums start at a row or at a number, and at a row for each tile"
        if self.start and not self.rows:
            return "only sums of groups start at a number"
        if self.dynamic not in ("", "k", "n", "kn"):
            return f'"k" and "n" may be dynamic, not "{self.dynamic}"'
        if self.any_n and (self.bias or self.fixed):
            return "where N is dynamic sums start at a number, and tiles have no fixed size"
        if self.buffers not in (1, COMPLETE):
            return f"there must be 1 or {COMPLETE} tiles of w in memory, not {self.buffers}"
        x = Format(lanes, self.summing.element.bits, rank)
        of_w, of_y = self.counting(lanes)
        w = x._replace(lanes=lanes + of_w)
        wide, levels = self.summing.to.bits, rank - self.folds
        y = Format(lanes + of_y, wide, levels, self.delay(lanes))
        rows = {"b": Format(lanes, wide, rank)} if self.bias else {}
        free = {"free": words(1)} if self.credits else {}
        return misfit(unit, design, x=x, w=w, **rows, y=y, **free)

    def delay(self, lanes: int) -> int:
        """Cycles from a step to its sums: distribute, read weights, multiply and add."""
        return SPREAD + stages.BLOCK_RAM + self.summing.stages(lanes)

    def value_bits(self, port: str) -> int:
        """See `UnitParams`: those of sums, if they are integers."""
        return self.summing.value_bits if port == "y" else 0

    def queues(self, unit: Unit, design: Design) -> list[Channel]:
        """From each loading actor to the computing one: a beat per complete tile or row.

        A row of ``x`` says where it ends if K is dynamic.
        """
        rank = design.channel[unit.inputs["w"]].rank
        lanes = 1 if self.dynamic else 0
        bits = sum(self.size_bits(design.lanes)) if self.dynamic else 0
        queues = [Channel("tiles", lanes, bits, rank, depth=COMPLETE)]
        if self.bias:
            queues.append(Channel("starts", 0, 0, rank, depth=COMPLETE))
        if self.k_inside(design.lanes):
            last = self.size_bits(design.lanes)[0] if self.any_k else 0
            queues.append(Channel("rows", min(1, last), last, rank, depth=COMPLETE))
        return queues

    def size_bits(self, lanes: int) -> tuple[int, int, int]:
        """Bits of the last slice of K, the last of N and what it lacks, if dims are dynamic."""
        k, n = ((count - 1).bit_length() for count in self.slices(lanes))
        return k, n, (lanes - 1).bit_length()

    def memory_bits(self, unit: Unit, design: Design) -> int:
        """Bits of the weights and rows, and with N inside of slices of x and of all sums.

        K inside the sums are in registers.
        """
        lanes, summing = design.lanes, self.summing
        in_rams = super().memory_bits(unit, design)
        if self.k_inside(lanes):
            return in_rams
        kept = self.in_turn(lanes) or summing.kept(self.sums(lanes))
        of_each = summing.state_bits * kept * lanes
        in_blocks = sum(ram.bits * ram.rows for ram in self._sums(lanes))
        waiting = ROWS_OF_X * lanes * summing.element.bits
        return in_rams + waiting + of_each - in_blocks

    def rams(self, unit: Unit, design: Design) -> list[Ram]:
        """A bank of the weights for each lane, the rows, and sums."""
        lanes, bits, wide = design.lanes, self.summing.element.bits, self.summing.to.bits
        of_x, of_b = (COMPLETE * half(slices) for slices in self.slices(lanes))
        banks = lanes * [Ram(lanes * bits, self.words(lanes))]
        rows_of_x = self.k_inside(lanes) * [Ram(lanes * bits, of_x)]
        return [*banks, *rows_of_x, *self.bias * [Ram(lanes * wide, of_b)], *self._sums(lanes)]

    def _sums(self, lanes: int) -> list[Ram]:
        """Block RAM of sums."""
        summing, sums = self.summing, self.sums(lanes)
        if self.in_turn(lanes) > SHALLOW:
            return [Ram(lanes * summing.bits, self.in_turn(lanes))]
        if not summing.indexed or not self.deep(lanes):
            return []
        states = [Ram(STATE_BITS, sums)] if summing.element == bf16 else []
        return lanes * [Ram(summing.bits, sums), *states]

    def lean(self) -> Matmul:
        """With memory for one tile of ``w``, which is used before the next one is loaded."""
        return replace(self, buffers=1)

    def multipliers(self, design: Design) -> int:
        """Hardware multipliers: a slice of ``x`` times a block of ``w`` per cycle."""
        of_one = PRODUCT.multipliers if self.element == f32.name else 1
        return design.lanes * design.lanes * of_one

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One loads tiles of w, one rows of b, and one computes once they are complete."""
        x, y, name = unit.inputs["x"], unit.outputs["y"], unit.name
        made = {"w": f"{name}.tiles", "b": f"{name}.starts"}
        held = {"w": self.buffers, "b": COMPLETE}
        sources = self.inputs[1:]

        def load(port: str) -> Part:
            taken, loaded = unit.inputs[port], made[port]
            dims = extents[taken]

            def follow(paces: Paces) -> Paces:
                tile = paces[taken].moved(TILE_LEVELS, 0)
                whole = loaded if tile.count(dims, TILE_LEVELS) == 1 else ""
                return {loaded: replace(tile, opened=False, closed=whole)}

            queue = Queue(dims, [(TILE_LEVELS, held[port])])
            return Part((taken,), (loaded,), follow, queues={loaded: queue})

        def compute(paces: Paces) -> Paces:
            rows, tiles = paces.get(x), [paces.get(made[port]) for port in sources]
            known = [p for p in (None if rows is None else rows.moved(1, 0), *tiles) if p]
            main = known[0]
            if self.folds:
                main = main.moved(TILE_LEVELS + 1, -1)
            return {y: replace(main.after(rows, *tiles), opened=False)}

        inputs = (x, *(made[port] for port in sources))
        bound = extents[y][0].bound
        turn = max(self.rest, self.summing.turn(1 if math.isinf(bound) else int(bound)))
        meets = dict.fromkeys(inputs, TILE_LEVELS)
        steady = self._keeps_rows(bound)
        return [
            *(load(port) for port in sources),
            Part(inputs, (y,), compute, meets=meets, turn=turn, steady=steady),
        ]
