"""Functions that make selectors, or flags of them: routing that is decided by data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from stepgen.functions.bases import SCALAR
from stepgen.hw.units.as_selector import params as as_selector
from stepgen.hw.units.as_tile import params as as_tile
from stepgen.hw.units.decode import params as decode
from stepgen.hw.units.top_k import params as top_k
from stepgen.ir.dtypes import MOST_CONSUMERS, DataType, Selector, Tile, address, bool_
from stepgen.ir.errors import StepError
from stepgen.ir.expr import Expr
from stepgen.ir.function import Mapped
from stepgen.ir.operator import Call
from stepgen.ir.setting import Setting
from stepgen.semantics import numbers
from stepgen.semantics.numbers import Array


@dataclass(frozen=True)
class _Largest(Mapped, abstract=True):
    """Chooses the `k` largest elements of a row; of equal ones the first."""

    k: int

    extents_of: ClassVar[Literal["cols"]] = "cols"
    scores: ClassVar[bool]

    def __post_init__(self) -> None:
        if self.k < 1:
            self.refuse(f"k must be at least 1, not {self.k}")

    def columns(self, call: Call, tiles: Sequence[Tile]) -> int:
        """Elements of a row, checked."""
        self.check(call, tiles)
        (row,) = tiles
        if row.rows != 1 or row.cols.static is None:
            call.fail(f"{self} needs tiles of 1 row of static length, not {row}")
        if row.cols.static < self.k:
            call.fail(f"{self} can't choose {self.k} of the {row.cols} elements of {row}")
        return row.cols.static

    def chosen(self, x: Array) -> Array:
        """Whether each element of a row is chosen."""
        row = numbers.canonical(x)[0].astype(np.float64)
        is_nan, lower = np.isnan(row), np.signbit(row)
        order = np.lexsort((np.arange(len(row)), lower, -np.where(is_nan, 0, row), is_nan))
        return np.isin(np.arange(len(row)), order[: self.k])

    @abstractmethod
    def compute(self, at: Setting, x: Array) -> Array:
        """The selector, or the elements."""

    def unit(self, lanes: int, tiles: Sequence[Any], without_stops: Sequence[bool]) -> top_k.TopK:
        """One pass over the row, an element per cycle."""
        row: Tile = tiles[0]
        assert row.cols.static is not None
        return top_k.TopK(row.element.name, row.cols.static, self.k, self.scores)

    def flops(self, *tiles: Tile) -> Expr:
        """1 per element of the row."""
        return tiles[0].elements


@dataclass(frozen=True)
class TopK(_Largest):
    """``[1, C]`` -> a selector over C consumers with the k largest elements set.

    Of equal elements the first ones are chosen; -0 is below +0, and a NaN below all numbers. So the
    scores of a gate route a token to its experts. 1 operation per element.

    Parameters
    ----------
    k : int
        How many are chosen, 1 to C.
    """

    scores: ClassVar[bool] = False

    def tile(self, call: Call, *tiles: Tile) -> Selector:
        """A selector."""
        return Selector(self.columns(call, tiles), hot=self.k)

    def compute(self, at: Setting, x: Array) -> Array:
        """A bit for each element."""
        return self.chosen(x)


@dataclass(frozen=True)
class TopKScores(_Largest):
    """``[1, C] -> [1, k]``: the elements that `top_k` chooses, in the order of their columns.

    So they meet the selectors that `one_hot` makes of those of `top_k`. Subnormal numbers are zero,
    and NaNs the one NaN. 1 operation per element.

    Parameters
    ----------
    k : int
        How many are chosen, 1 to C.
    """

    scores: ClassVar[bool] = True

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A row of the same type."""
        self.columns(call, tiles)
        return Tile(1, self.k, tiles[0].element)

    def compute(self, at: Setting, x: Array) -> Array:
        """The elements that are chosen."""
        return np.asarray(numbers.canonical(x)[:, self.chosen(x)])


@dataclass(frozen=True)
class AsSelector(Mapped):
    """Flags ``[1, C]`` -> a selector over C consumers: consumer j is chosen where flag j is set.

    So comparisons route elements. A selector may choose none, which drops an element, or several.
    Of an address ``[1, 1]`` the consumer of that number is chosen, such as what `argmax` found.

    Parameters
    ----------
    otherwise : bool
        Whether there is one consumer more, the last one, which is chosen where no flag is set: of a
        single flag consumer 0 gets the elements for which it is set, and consumer 1 the others.
    consumers : int, optional
        Their number, which addresses need and flags tell themselves.
    """

    otherwise: bool = False
    consumers: int | None = None

    elements: ClassVar = (bool_, address)
    extents_of: ClassVar[Literal["first"]] = "first"

    def __post_init__(self) -> None:
        if self.consumers is not None and not 1 <= self.consumers <= MOST_CONSUMERS:
            self.refuse(f"there are 1 to {MOST_CONSUMERS} consumers, not {self.consumers}")
        if self.consumers is not None and self.otherwise:
            self.refuse("an address always names a consumer: otherwise is for flags")

    def tile(self, call: Call, *tiles: Tile) -> Selector:
        """A selector; with a known number of bits set where it is one of two, or of addresses."""
        self.check(call, tiles)
        (row,) = tiles
        if row.element == address and self.consumers is None:
            call.fail(f"{self} takes {row}, so it needs consumers=..., their number")
        if row.element == bool_ and self.consumers is not None:
            call.fail(f"{self} takes {row}, a consumer for each flag: leave out consumers")
        if self.consumers is not None:
            if row != SCALAR:
                call.fail(f"{self} needs {SCALAR}, not {row}")
            return Selector(self.consumers, hot=1)
        if row.rows != 1 or not row.cols.static:
            call.fail(f"{self} needs flags in 1 row of static length, at least 1, not {row}")
        consumers = row.cols.static + self.otherwise
        return Selector(consumers, hot=1 if self.otherwise and consumers == 2 else None)

    def compute(self, at: Setting, x: Array) -> Array:
        """A bit for each flag, or that of the address.

        Raises
        ------
        StepError
            If there is no consumer of that number.
        """
        if self.consumers is not None:
            if x[0, 0] >= self.consumers:
                raise StepError(f"{self} gets the address {x[0, 0]}, a consumer that is not there")
            return np.asarray(np.arange(self.consumers) == int(x[0, 0]))
        flags = x[0]
        return np.append(flags, not flags.any()) if self.otherwise else flags.copy()

    def unit(
        self, lanes: int, tiles: Sequence[Any], without_stops: Sequence[bool]
    ) -> as_selector.AsSelector | decode.Decode:
        """It takes a slice of the row per cycle, or an address."""
        if self.consumers is not None:
            return decode.Decode(self.consumers)
        return as_selector.AsSelector(tiles[0].cols.static, self.otherwise)

    def largest_number(self, *types: DataType) -> int:
        """The last consumer, which an address may name."""
        return self.consumers or 0


class AsFlags(Mapped):
    """A selector over n consumers -> flags ``[1, n]``, which `convert` makes numbers.

    So what is chosen can be masked, counted or weighted.
    """

    maps_selectors: ClassVar[bool] = True
    extents_of: ClassVar[Literal["first"]] = "first"

    def tile(self, call: Call, *tiles: DataType) -> Tile:
        """A row with a flag for each consumer."""
        selector = tiles[0]
        if len(tiles) != 1 or not isinstance(selector, Selector):
            call.fail(f"{self} needs selectors, not {call.inputs[0]}")
        return Tile(1, selector.n, bool_)

    def compute(self, at: Setting, x: Array) -> Array:
        """The bits as a row."""
        return x[None].copy()

    def unit(self, lanes: int, tiles: Sequence[Any], without_stops: Sequence[bool]) -> Any:
        """It sends a slice of the row per cycle."""
        return as_tile.AsTile(bool_.name, bool_.name, tiles[0].n)
