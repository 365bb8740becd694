"""Base classes of functions, with the type rules of element-wise ones."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from stepgen.hw.design.params import UnitParams
from stepgen.hw.units.accumulate import params as accumulate
from stepgen.hw.units.calculate import params as calculate
from stepgen.hw.units.pcu import params as pcu
from stepgen.ir.dims import Dim, static
from stepgen.ir.dtypes import INTEGERS, DataType, Tile, address, f32, wide
from stepgen.ir.errors import StepError
from stepgen.ir.expr import Expr
from stepgen.ir.function import Function, Mapped, Scanned
from stepgen.ir.operator import Call
from stepgen.ir.setting import Setting
from stepgen.ir.stream import Stream
from stepgen.ir.uniform import one_size
from stepgen.ir.wire import TILE_LEVELS
from stepgen.semantics.applying import say
from stepgen.semantics.numbers import DTYPES, Array

SCALAR = Tile(1, 1, address)
"""One address."""


class _ByElement(Mapped, abstract=True):
    """A function of elements at the same position, numbers or addresses."""

    def calculates(self) -> calculate.Operation | None:
        """What is computed of addresses; None if it is not arithmetic of addresses."""
        return None

    def constant(self) -> int | None:
        """The second operand of what is computed of addresses, if it is a parameter."""
        return None

    def calculation(self, *types: DataType) -> tuple[str, int | None] | None:
        """That of `calculates`, where all operands are single addresses."""
        operation = self.calculates() if all(x == SCALAR for x in types) else None
        return (operation, self.constant()) if operation else None

    @abstractmethod
    def lane(self, *lanes: Any, **named: Any) -> pcu.Lane | None:
        """The arithmetic of one element in the circuit; None if there is none."""

    def unit(
        self, lanes: int, tiles: Sequence[Tile], without_stops: Sequence[bool]
    ) -> UnitParams | None:
        """The PCU of `lane`; of addresses, which are not tiles, a unit for these."""
        if tiles[0].element == address:
            operation = self.calculates()
            return calculate.of_tiles(operation, tiles, self.constant()) if operation else None
        return pcu.of_function(self.lane, tiles, lanes)

    def keeps_rows(self, operand: int) -> bool:
        """An element stays at its position."""
        return True


class Unary(_ByElement, abstract=True):
    """A function of each element.

    Attributes
    ----------
    cost : int
        Operations per element.
    """

    cost: ClassVar[int] = 1
    any_columns: ClassVar = True

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile of the same shape and element type."""
        self.check(call, tiles)
        return tiles[0]

    @abstractmethod
    def compute(self, at: Setting, x: Array) -> Array:
        """All elements."""

    def exact(self, x: Array) -> Array:
        """The function on real numbers, doubles of any shape, as models before lowering mean it.

        A function that has no formula of its own computes in f32.
        """
        return _in_f32(self, x)

    def lane(self, x: pcu.Lane) -> pcu.Lane | None:
        """The arithmetic of one element in the circuit; None if there is none."""
        return None

    def flops(self, *tiles: Tile) -> Expr:
        """`cost` per element."""
        return tiles[0].elements * self.cost


@dataclass(frozen=True)
class Constant(Unary, abstract=True):
    """A function of each element and a constant `c`, a whole number for integers."""

    c: float

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile of the same shape and element type."""
        self.check(call, tiles)
        call.constant(str(self), self.c, tiles[0].element)
        return tiles[0]

    def constant(self) -> int | None:
        """`c`, a whole number."""
        return int(self.c)


class Binary(_ByElement, abstract=True):
    """A function of two elements at the same position; extents of 1 are broadcast as in numpy."""

    arity: ClassVar[int] = 2
    any_columns: ClassVar = True

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """The tile of both shapes together."""
        self.check(call, tiles)
        a, b = tiles
        if a.element != b.element:
            call.fail(f"{self} needs tiles of one element type, not {a} and {b}")
        return Tile(
            broadcast(call, self, "rows", a.rows, b.rows, a, b),
            broadcast(call, self, "cols", a.cols, b.cols, a, b),
            a.element,
        )

    @abstractmethod
    def compute(self, at: Setting, a: Array, b: Array) -> Array:
        """All pairs."""

    def exact(self, a: Array, b: Array) -> Array:
        """The function on real numbers, doubles of any shape, as models before lowering mean it.

        A function that has no formula of its own computes in f32.
        """
        return _in_f32(self, *np.broadcast_arrays(a, b))

    def lane(self, a: pcu.Lane, b: pcu.Lane) -> pcu.Lane | None:
        """The arithmetic of one pair in the circuit; None if there is none."""
        return None

    def fit(self, *tiles: Array) -> None:
        """Check that extents are equal, or one of them is 1."""
        a, b = tiles
        for mine, its in zip(a.shape, b.shape, strict=True):
            if mine != its and 1 not in (mine, its):
                raise StepError(f"{self} can't join tiles of {say(a)} and {say(b)}")

    def flops(self, *tiles: Tile) -> Expr:
        """1 per element of the result."""
        a, b = tiles
        rows = b.rows if a.rows == 1 else a.rows
        cols = b.cols if a.cols == 1 else a.cols
        return rows.expr * cols.expr


def _in_f32(fn: Mapped, *operands: Array) -> Array:
    """What `compute` gives for numbers of f32, as doubles."""
    rows = [np.asarray(x, np.float32).reshape(-1, 1) for x in operands]
    at = Setting(Tile(static(len(rows[0])), static(1), f32), np.dtype(np.float32), 1)
    result = fn.compute(at, *rows)
    return np.asarray(result, np.float64).reshape(operands[0].shape)


class Running(Scanned, abstract=True):
    """A function of Accum and Scan that updates each element of the state by itself.

    Its operands, or the tiles that `terms` makes of them, and its state have the same extents, and
    all elements start with the same number.
    """

    def lane(self, *lanes: Any, **named: Any) -> pcu.Lane | None:
        """The arithmetic of an update in the circuit; None if there is none.

        It gets one lane of the state, then one of each operand or that of a term, which is of the
        state's type, and makes that of the new state.
        """
        return None

    def fold_unit(self, lanes: int, streams: Sequence[Stream], rank: int) -> UnitParams | None:
        """The accumulator of `lane`, which sends the state of a chunk."""
        return self._accumulator(lanes, streams, rank, every=False)

    def scan_unit(self, lanes: int, streams: Sequence[Stream], rank: int) -> UnitParams | None:
        """The accumulator of `lane`, which sends the state after every tile."""
        return self._accumulator(lanes, streams, rank, every=True)

    def _accumulator(
        self, lanes: int, streams: Sequence[Stream], rank: int, *, every: bool
    ) -> UnitParams | None:
        *operands, state = (s.dtype for s in streams if isinstance(s.dtype, Tile))
        terms = self.terms(lanes, [*operands, state])
        at = Setting(state, DTYPES[state.element.name], lanes)
        start = self.start(at, 1, 1, streams[-1].node.attrs["init"])
        return accumulate.of_function(
            self.lane,
            [state, *([state] if terms else operands)],
            start=int.from_bytes(start.tobytes(), "little"),
            level=TILE_LEVELS + rank,
            lanes=lanes,
            every=every,
        )


class Folding(Binary, Running, abstract=True):
    """A binary function for Accum and Scan too: the accumulator has the input's shape."""

    def state(self, call: Call, *tiles: Tile) -> Tile:
        """A tile like the input's."""
        if len(tiles) != 1:
            call.fail(f"{self} folds 1 stream, not {len(tiles)}")
        self.check(call, [tiles[0], tiles[0]])
        if tiles[0].element == address:
            call.fail(f"{self} folds numbers, not {tiles[0]}: convert them to int32 first")
        if not one_size(call, tiles[0].dims):
            call.fail(f"{self} can't fold tiles of different sizes, {tiles[0]}")
        return tiles[0]

    def update(self, at: Setting, state: Any, x: Array) -> Any:
        """The state and the next tile, of the same size."""
        if state.shape != x.shape:
            raise StepError(
                f"{self} can't fold tiles of different sizes, {say(state)} and {say(x)}"
            )
        return self.compute(at, state, x)

    def flops(self, *tiles: Tile) -> Expr:
        """1 per element of the result."""
        return super().flops(*tiles) if len(tiles) == 2 else tiles[0].elements


def of_products(tile: Tile) -> Tile:
    """The type of products of this tile's elements: integers multiply into int32."""
    return Tile(tile.rows, tile.cols, wide(tile.element)) if tile.element in INTEGERS else tile


def broadcast(call: Call, function: Function, what: str, a: Dim, b: Dim, x: Tile, y: Tile) -> Dim:
    """The common extent of two tiles in one dim; 1 is broadcast.

    Raises
    ------
    StepError
        Through `call`, if they differ.
    """
    if a.same(b) or b == 1:
        return a
    if a == 1:
        return b
    call.fail(f"{function} can't join the tiles {x} and {y}, whose {what} differ, {a} against {b}")
