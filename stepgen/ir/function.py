"""Functions: what Map, Accum, Scan and FlatMap do to tiles.

A function is one file in ``stepgen/ir/functions``, named as the function, with one subclass of
`Function`. Users write ``sg.fn.matmul(transpose=True)``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import sympy

from stepgen.ir import registry
from stepgen.ir.arguments import checked, shown
from stepgen.ir.dims import Dim
from stepgen.ir.dtypes import DataType, ElementType, Tile, bf16, f32, int8, int32
from stepgen.ir.errors import StepError
from stepgen.ir.operator import Call
from stepgen.ir.uniform import one_size

if TYPE_CHECKING:
    from stepgen.ir.stream import Routing

_PACKAGE = "stepgen.ir.functions"

NUMBERS: tuple[ElementType, ...] = (int8, int32, bf16, f32)
FLOATS: tuple[ElementType, ...] = (bf16, f32)


@dataclass(frozen=True)
class Pieces:
    """The stream that FlatMap makes of one element.

    Attributes
    ----------
    dims : tuple of Dim
        Its shape, outermost first.
    dtype : DataType
        What it is made of.
    total : sympy.Expr or None
        How many pieces all elements of the run give, where the dims don't tell.
    routing : Routing or None
        What is known about pieces that are selectors.
    """

    dims: tuple[Dim, ...]
    dtype: DataType
    total: sympy.Expr | None = None
    routing: Routing | None = None


@dataclass(frozen=True)
class Function:
    """The type face of a function; its parameters are the fields of the dataclass.

    Attributes
    ----------
    arity : int
        Number of tiles that it takes.
    elements : tuple of ElementType
        Element types that it works on.
    keeps_volume : bool
        Whether what it folds has as many scalars as what goes in.
    cuts_selectors : bool
        Whether FlatMap may give it selectors.
    """

    EXAMPLE: ClassVar[str] = "fn.add()"
    arity: ClassVar[int] = 1
    keeps_volume: ClassVar[bool] = False
    cuts_selectors: ClassVar[bool] = False
    elements: ClassVar[tuple[ElementType, ...]] = NUMBERS

    @property
    def name(self) -> str:
        """The name of the file that defines it."""
        return type(self).__module__.rpartition(".")[2]

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """The tile that comes out of Map."""
        call.fail(f"{self} can't be mapped, choose a function from tiles to a tile")

    def accumulator(self, call: Call, dims: Sequence[Dim], *tiles: Tile) -> Tile:
        """The tile that Accum makes of a chunk of these dims, outermost first."""
        call.fail(f"{self} can't fold, choose a function such as add, matmul or retile_row")

    def state(self, call: Call, *tiles: Tile) -> Tile:
        """The tile that Scan emits at every element: an accumulator that keeps its size."""
        call.fail(f"{self} can't scan, choose a function whose result keeps its size such as add")

    def stream(self, call: Call, rank: int, element: DataType) -> Pieces:
        """The rank-`rank` stream that FlatMap makes of one element."""
        call.fail(f"{self} makes no stream of a tile, choose a function such as retile_streamify")

    def may_vanish(self, element: DataType) -> bool:
        """Whether FlatMap can make an empty stream of an element."""
        return False

    def keeps_rows(self, operand: int) -> bool:
        """Whether row i of the result has row i of an operand in it, and no other row of it.

        An operand of one row is repeated for all of them.
        """
        return False

    def flops(self, *tiles: Tile) -> sympy.Expr:
        """Arithmetic operations on one set of tiles."""
        return sympy.Integer(0)

    def check(self, call: Call, tiles: Sequence[Tile]) -> None:
        """Check the number of tiles and their element types.

        Raises
        ------
        StepError
            Through `call`, if they don't fit.
        """
        if len(tiles) != self.arity:
            call.fail(f"{self} takes {self.arity} tiles, not {len(tiles)}")
        for tile in tiles:
            if tile.element not in self.elements:
                names = ", ".join(str(e) for e in self.elements)
                call.fail(f"{self} works on {names}, not on {tile}")

    def parameters(self) -> dict[str, Any]:
        """The parameters as JSON values."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {k: v.name if isinstance(v, ElementType) else v for k, v in values.items()}

    def __str__(self) -> str:
        given = [f"{k}={v}" for k, v in self.parameters().items()]
        return f"{self.name}({', '.join(given)})"


class Unary(Function):
    """A function of each element.

    Attributes
    ----------
    cost : int
        Operations per element.
    """

    cost: ClassVar[int] = 1

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile of the same shape and element type."""
        self.check(call, tiles)
        return tiles[0]

    def keeps_rows(self, operand: int) -> bool:
        """An element stays at its place."""
        return True

    def flops(self, *tiles: Tile) -> sympy.Expr:
        """`cost` per element."""
        return tiles[0].elements * self.cost


@dataclass(frozen=True)
class Constant(Unary):
    """A function of each element and a constant `c`, a whole number for integers."""

    c: float

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile of the same shape and element type."""
        self.check(call, tiles)
        call.constant(str(self), self.c, tiles[0].element)
        return tiles[0]


class Binary(Function):
    """A function of two elements at the same place; extents of 1 are repeated as in numpy."""

    arity: ClassVar[int] = 2

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

    def keeps_rows(self, operand: int) -> bool:
        """Elements meet at their place."""
        return True

    def flops(self, *tiles: Tile) -> sympy.Expr:
        """1 per element of the result."""
        a, b = tiles
        rows = b.rows if a.rows == 1 else a.rows
        cols = b.cols if a.cols == 1 else a.cols
        return rows.expr * cols.expr


class Folding(Binary):
    """A binary function that also folds: the accumulator has the input's shape."""

    def accumulator(self, call: Call, dims: Sequence[Dim], *tiles: Tile) -> Tile:
        """A tile like the input's."""
        return self.state(call, *tiles)

    def state(self, call: Call, *tiles: Tile) -> Tile:
        """A tile like the input's."""
        if len(tiles) != 1:
            call.fail(f"{self} folds 1 stream, not {len(tiles)}")
        self.check(call, [tiles[0], tiles[0]])
        if not one_size(call, tiles[0].dims):
            call.fail(f"{self} can't fold tiles of different sizes, {tiles[0]}")
        return tiles[0]

    def flops(self, *tiles: Tile) -> sympy.Expr:
        """1 per element of the result."""
        return super().flops(*tiles) if len(tiles) == 2 else tiles[0].elements


def of_products(tile: Tile) -> Tile:
    """The tile that the products of such tiles' elements need: int8 multiplies into int32."""
    return Tile(tile.rows, tile.cols, int32) if tile.element == int8 else tile


def broadcast(call: Call, function: Function, what: str, a: Dim, b: Dim, x: Tile, y: Tile) -> Dim:
    """The common extent of two tiles in one dim; 1 is repeated.

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


@cache
def function_types() -> dict[str, type[Function]]:
    """Every function by name: one class per file of ``stepgen/ir/functions``."""
    return registry.classes(_PACKAGE, Function)


def function(name: str, /, **parameters: Any) -> Function:
    """The function of this name.

    Raises
    ------
    StepError
        If there is none or the parameters don't fit.
    """
    if not isinstance(name, str) or name not in function_types():
        some = ", ".join(function_types())
        raise StepError(f"there is no function {shown(name)}, those are {some}")
    return _makers()[name](**parameters)


@cache
def _makers() -> dict[str, Callable[..., Function]]:
    return {name: checked(kind, name) for name, kind in function_types().items()}


class Namespace:
    """``sg.fn``: every function under its name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in function_types():
            raise AttributeError(f"there is no function {name!r}")
        return _makers()[name]

    def __dir__(self) -> list[str]:
        return list(function_types())


fn = Namespace()
"""The functions: ``fn.add()``, ``fn.scale(0.5)``."""
