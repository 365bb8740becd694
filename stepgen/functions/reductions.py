"""Functions that reduce rows or chunks, or run along them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, Literal

import numpy as np

from stepgen.functions.bases import Constant
from stepgen.hw.units.count import params as count
from stepgen.hw.units.pcu.params import Lane
from stepgen.hw.units.reduce_rows import params as reduce_rows
from stepgen.hw.units.running_max import params as running_max
from stepgen.ir.dtypes import ElementType, Tile, address, wide
from stepgen.ir.expr import Expr
from stepgen.ir.function import Mapped, Scanned
from stepgen.ir.operator import Call
from stepgen.ir.setting import Setting
from stepgen.ir.stream import Stream
from stepgen.ir.wire import wire_levels
from stepgen.semantics import numbers
from stepgen.semantics.numbers import Array


class _OfRows(Mapped, abstract=True):
    """``[R, C] -> [R, 1]``, 1 operation per element."""

    extents_of: ClassVar[Literal["rows"]] = "rows"
    any_columns: ClassVar = True

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """One column."""
        self.check(call, tiles)
        return Tile(tiles[0].rows, 1, tiles[0].element)

    @abstractmethod
    def lane(self, a: Lane, b: Lane) -> Lane:
        """The arithmetic of a pair of elements in the circuit, in the result's type."""

    @abstractmethod
    def neutral(self, element: ElementType) -> float:
        """The number that leaves any other as it is."""

    def unit(
        self, lanes: int, tiles: Sequence[Tile], without_stops: Sequence[bool]
    ) -> reduce_rows.ReduceRows | None:
        """A tree of `lane`."""
        x, y = tiles
        return reduce_rows.of_function(self.lane, x, y.element, self.neutral(y.element))

    def keeps_rows(self, operand: int) -> bool:
        """Each row gives one element."""
        return True

    def flops(self, *tiles: Tile) -> Expr:
        """1 per element of the input."""
        return tiles[0].elements


class RowMax(_OfRows):
    """``[R, C] -> [R, 1]``, 1 operation per element: the largest element of each row.

    A row without columns gives the lowest number.
    """

    def compute(self, at: Setting, x: Array) -> Array:
        """One column; the order of comparing does not matter."""
        lowest = np.full((x.shape[0], 1), numbers.lowest(at.element), at.dtype)
        columns = [x[:, i : i + 1] for i in range(x.shape[1])]
        return reduce(numbers.maximum, columns, lowest)

    def lane(self, a: Lane, b: Lane) -> Lane:
        """The larger one."""
        return a.maximum(b)

    def neutral(self, element: ElementType) -> float:
        """The lowest number."""
        return float(numbers.lowest(element.name))


class RowSum(_OfRows):
    """``[R, C] -> [R, 1]``, 1 operation per element; sums of integers are int32, of bf16 f32.

    A balanced tree of adjacent pairs over the row, in the result's type; where a number is left
    over it goes up a level. A row without columns gives 0.
    """

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """One column, wide enough for sums."""
        one = super().tile(call, *tiles)
        return Tile(one.rows, one.cols, wide(one.element))

    def compute(self, at: Setting, x: Array) -> Array:
        """One column."""
        if x.shape[1] == 0:
            return np.zeros((x.shape[0], 1), at.dtype)
        return numbers.tree_sum(numbers.convert(x, at.element))[:, None]

    def lane(self, a: Lane, b: Lane) -> Lane:
        """The sum."""
        return a + b

    def neutral(self, element: ElementType) -> float:
        """Zero; of floats -0, since +0 and -0 make +0."""
        return -0.0 if numbers.is_float(element.name) else 0


@dataclass(frozen=True)
class RunningMax(Constant):
    """``y[j] = max(x[j], y[j-1] - c)`` in each row: a maximum that decays by `c` per column.

    2 operations per element. With 0 the plain running maximum, in which -0 is below +0 and a NaN
    stays; with a gap penalty the row update of sequence alignment by dynamic programming. Each
    subtraction of floats rounds; integers do not wrap around, since no maximum is below x. A
    circuit computes floats that decay one column after the other, each as long as it takes to add
    and to compare.

    Parameters
    ----------
    c : number
        At least 0; a whole number where the elements are integers.
    """

    c: float = 0

    cost: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if not self.c >= 0:
            self.refuse(f"a maximum decays by a number of at least 0, not by {self.c}")

    def compute(self, at: Setting, x: Array) -> Array:
        """All rows at once, from left to right."""
        if numbers.is_float(at.element):
            decay = numbers.constant(-self.c, at.element)
            columns = [x[:, :1]]
            for j in range(1, x.shape[1]):
                last = columns[-1]
                if self.c:
                    last = numbers.add(last, decay, at.element)
                columns.append(numbers.maximum(x[:, j : j + 1], last))
            return np.concatenate(columns, axis=1)
        raised = np.arange(x.shape[1]) * int(min(self.c, 1 << 32))
        highest = np.maximum.accumulate(x.astype(np.int64) + raised, axis=1) - raised
        return highest.astype(at.dtype)

    def unit(
        self, lanes: int, tiles: Sequence[Tile], without_stops: Sequence[bool]
    ) -> running_max.RunningMax | None:
        """A prefix network; of floats that decay one column after the other."""
        return running_max.of_tile(tiles[0], self.c)


@dataclass(frozen=True)
class Count(Scanned):
    """Accum and Scan only: any tiles -> a scalar address, the number of elements."""

    structural: ClassVar[bool] = True

    def state(self, call: Call, *tiles: Tile) -> Tile:
        """A scalar address."""
        if len(tiles) != 1:
            call.fail(f"{self} counts the elements of 1 stream, not of {len(tiles)}")
        return Tile(1, 1, address)

    def extents(self, *tiles: Array) -> tuple[int, int]:
        """A scalar."""
        return 1, 1

    def update(self, at: Setting, state: Any, x: Array) -> Any:
        """One more."""
        return state + at.dtype.type(1)

    def fold_unit(self, lanes: int, streams: Sequence[Stream], rank: int) -> count.Count:
        """A counter, which gives the number of a chunk."""
        return self._counter(streams, rank, every=False)

    def scan_unit(self, lanes: int, streams: Sequence[Stream], rank: int) -> count.Count:
        """A counter, which gives each number."""
        return self._counter(streams, rank, every=True)

    def _counter(self, streams: Sequence[Stream], rank: int, *, every: bool) -> count.Count:
        x, y = streams
        base = wire_levels(x.dtype)
        return count.Count(base, base + rank, y.node.attrs["init"] or 0, every)
