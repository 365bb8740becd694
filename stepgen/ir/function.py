"""Functions on tiles, for Map, Accum, Scan and FlatMap.

A function is one class with its type rule, its operation count and its golden model. Its base
classes say what it can be used for: `Mapped`, `Folded`, `Scanned`, `Cut`. Defining the class
registers it as ``sg.fn.<name>``, in stepgen and in users' own files alike.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from stepgen.ir import registry
from stepgen.ir.arguments import checked, shown
from stepgen.ir.dims import Dim
from stepgen.ir.dtypes import NUMBERS, DataType, ElementType, Selector, Tile
from stepgen.ir.errors import StepError
from stepgen.ir.expr import Expr, constant
from stepgen.ir.homes import HOMES
from stepgen.ir.operator import Call
from stepgen.ir.pieces import Parts, Pieces
from stepgen.ir.setting import Setting
from stepgen.ir.where import user_line

if TYPE_CHECKING:
    from stepgen.ir.stream import Stream

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Function(ABC):
    """A function; its parameters are the fields of the dataclass.

    A base class is declared as ``class Unary(Mapped, abstract=True)``; any other class is a
    function, whose name is that of the class in snake_case.

    Attributes
    ----------
    name : str
        Its name in programs.
    arity : int
        Number of operand tiles.
    optional : int
        Tiles that it may be given beyond those.
    elements : tuple of ElementType
        Element types of operands.
    gathers : bool
        Whether it only joins or splits tiles: the result stays in the memory of the operand.
    structural : bool
        Whether the result depends only on the structure of a stream, not on the contents of tiles.
    reads_numbers : bool
        Whether it computes with the addresses in tiles, or with the bits of selectors.
    converts : bool
        Whether it only changes the type of elements, which may be addresses.
    length_operand : int or None
        Which operand is the length of a range that it makes; None where it makes none.
    any_columns : bool
        Whether its circuit takes tiles whose columns are not static, an element a beat.
    per_inner : bool
        Whether the paper counts its operations once for every term of the sums it is applied to.

    Raises
    ------
    StepError
        When the class is defined, if it lacks a method or another function has its name.
    """

    EXAMPLE: ClassVar[str] = "fn.add()"
    name: ClassVar[str]
    arity: ClassVar[int] = 1
    optional: ClassVar[int] = 0
    elements: ClassVar[tuple[ElementType, ...]] = NUMBERS
    gathers: ClassVar[bool] = False
    structural: ClassVar[bool] = False
    reads_numbers: ClassVar[bool] = False
    length_operand: ClassVar[int | None] = None
    converts: ClassVar[bool] = False
    any_columns: ClassVar[bool] = False
    per_inner: ClassVar[bool] = False

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        super().__init_subclass__()
        if not abstract:
            _register(cls)

    def keeps_rows(self, operand: int) -> bool:
        """Whether row i of the result depends on row i of an operand, and on no other row of it.

        An operand of one row is broadcast to all rows.
        """
        return False

    def flops(self, *tiles: Tile) -> Expr:
        """Arithmetic operations on one set of tiles."""
        return constant(0)

    def inner(self, *tiles: Tile) -> Expr:
        """Number of terms in the sum that each element of the result is."""
        return constant(1)

    def held(self, *tiles: Tile) -> Expr:
        """Bytes of operands that a unit holds while it computes."""
        return constant(0)

    def largest_number(self, *types: DataType) -> int:
        """The largest address that its circuit represents exactly, for operands of types."""
        return 0

    def calculation(self, *types: DataType) -> tuple[str, int | None] | None:
        """What it computes of single addresses, for operands of types; None of all others.

        It is the name of an operation of `stepgen.timing.addresses`, and the second operand if that
        is a parameter.
        """
        return None

    def of_one(self) -> Function:
        """The same for ranges of 1 element, if it makes the elements of ranges; else itself."""
        return self

    def passes_one_by_one(self) -> bool:
        """Whether the elements of a range that it makes pass through the circuit one by one."""
        return False

    def check(self, call: Call, tiles: Sequence[Tile]) -> None:
        """Check the number of tiles and their element types.

        Raises
        ------
        StepError
            Through `call`, if they are not accepted.
        """
        numbers = range(self.arity, self.arity + self.optional + 1)
        if len(tiles) not in numbers:
            call.fail(f"{self} takes {' or '.join(map(str, numbers))} tiles, not {len(tiles)}")
        for tile in tiles:
            if tile.element not in self.elements:
                names = ", ".join(str(e) for e in self.elements)
                call.fail(f"{self} works on {names}, not on {tile}")

    def refuse(self, message: str) -> NoReturn:
        """Raise an error in the parameters, from `__post_init__`."""
        raise StepError(f"{self.name} at {user_line(self)}: {message}")

    def parameters(self) -> dict[str, Any]:
        """The parameters as JSON values."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {k: v.name if isinstance(v, ElementType) else v for k, v in values.items()}

    def __str__(self) -> str:
        given = [f"{k}={v}" for k, v in self.parameters().items() if v is not None]
        return f"{self.name}({', '.join(given)})"


class Mapped(Function, abstract=True):
    """A function from tiles to a tile, for Map.

    Attributes
    ----------
    counted : frozenset of int
        Operands whose beats the unit counts: it ignores their stops.
    extents_of : str
        Origin of the extents of the result: both operands ("both"), the first one
        ("first"), the first one whose last row with data is the last that was placed ("placed"),
        the rows of the first and the columns of a weight ("product"), the rows of the first and
        one column ("rows") or as many as the parameter ``cols`` or ``k`` ("cols").
    ends_range : bool
        Whether the result is the last address of the range that is its operand.
    maps_selectors : bool
        Whether it accepts selectors.
    """

    counted: ClassVar[frozenset[int]] = frozenset()
    extents_of: ClassVar[Literal["both", "first", "placed", "product", "rows", "cols"]] = "both"
    ends_range: ClassVar[bool] = False
    maps_selectors: ClassVar[bool] = False

    @abstractmethod
    def tile(self, call: Call, *tiles: Any) -> Tile | Selector:
        """The type of the resulting tile; of a function that chooses, that of the selector."""

    # `named` lets classes name their tiles: compute(self, at, x), compute(self, at, a, b).
    @abstractmethod
    def compute(self, at: Setting, *tiles: Any, **named: Any) -> Array:
        """The golden model: the resulting tile; operands are read-only arrays [rows, cols]."""

    def unit(self, lanes: int, tiles: Sequence[Tile], without_stops: Sequence[bool]) -> Any:
        """The unit of a Map; None if the function has no circuit.

        Parameters
        ----------
        lanes : int
            Lanes of a beat.
        tiles : sequence of Tile
            Types of the operands, then of the result.
        without_stops : sequence of bool
            By operand, whether its values come without stops.

        Returns
        -------
        stepgen.hw.design.params.UnitParams or None
            Its inputs are the operands in order, its output is ``y``.

        Raises
        ------
        StepError
            If there is no circuit for these tiles.
        """
        return None

    def fit(self, *tiles: Array) -> None:
        """Check extents that are known only at run time.

        Raises
        ------
        StepError
            If the tiles' sizes do not match.
        """


class Folded(Function, abstract=True):
    """A function that folds the tiles of a chunk into one, for Accum.

    Attributes
    ----------
    grows : str or None
        The extent of the state that grows with every element: "rows" or "cols".
    begins : bool
        Whether the state begins with a number that the program may give. Else a chunk needs an
        element.
    """

    grows: ClassVar[Literal["rows", "cols"] | None] = None
    begins: ClassVar[bool] = True

    @abstractmethod
    def accumulator(self, call: Call, dims: Sequence[Dim], *tiles: Tile) -> Tile:
        """The type of the accumulator for a chunk of these dims, outermost first."""

    @abstractmethod
    def update(self, at: Setting, state: Any, *tiles: Any, **named: Any) -> Any:
        """The golden model: the state, which may be changed in place, after one more element."""

    def identity(self, at: Setting) -> Any:
        """Initial value of an accumulator, if the program gives none."""
        return 0

    def start(self, at: Setting, rows: int, cols: int, init: float | None) -> Any:
        """The state before the first update."""
        number = self.identity(at) if init is None else init
        return np.full((rows, cols), number, at.dtype)

    def extents(self, *tiles: Array) -> tuple[int, int]:
        """Rows and columns of the state that these tiles update."""
        return tiles[0].shape[0], tiles[0].shape[1]

    def finish(self, at: Setting, state: Any) -> Array:
        """The tile of a state."""
        return np.asarray(state)

    def empty(self, at: Setting, init: float | None) -> Array:
        """The tile of a chunk without elements.

        Raises
        ------
        StepError
            If its size is not static.
        """
        rows, cols = at.tile.rows.static, at.tile.cols.static
        if rows is None or cols is None:
            raise StepError(
                f"{self} folds an empty chunk, whose result of type {at.out} has no size"
            )
        return self.finish(at, self.start(at, rows, cols, init))

    def terms(self, lanes: int, tiles: Sequence[Tile]) -> Any:
        """The unit that makes the tiles that are folded; None if those are the operands."""
        return None

    def joins_dims(self, *tiles: Tile) -> bool:
        """Whether its unit folds chunks of one dim, to which the dims of others are joined."""
        return False

    def fold_unit(self, lanes: int, streams: Sequence[Stream], rank: int) -> Any:
        """The unit of an Accum, or units in a chain; None if the function has no circuit.

        Parameters
        ----------
        lanes : int
            Lanes of a beat; columns of tiles are static, and the last beat of a row may be padded.
        streams : sequence of Stream
            The operands, then the result.
        rank : int
            Dims of a chunk.

        Returns
        -------
        stepgen.hw.design.params.UnitParams, list of them, or None
            The inputs of one are the operands in order, its output is ``y``; units in a chain have
            one input and one output each.

        Raises
        ------
        StepError
            If there is no circuit for these streams.
        """
        return None


class Scanned(Folded, abstract=True):
    """A function that folds into a state of constant size, for Accum and Scan."""

    @abstractmethod
    def state(self, call: Call, *tiles: Tile) -> Tile:
        """The type of the state, which Scan emits at every element."""

    def scan_unit(self, lanes: int, streams: Sequence[Stream], rank: int) -> Any:
        """The unit of a Scan, as `fold_unit` is that of an Accum."""
        return None

    def accumulator(self, call: Call, dims: Sequence[Dim], *tiles: Tile) -> Tile:
        """The state, for any chunk."""
        return self.state(call, *tiles)


class Cut(Function, abstract=True):
    """A function that makes a stream of an element, for FlatMap.

    Attributes
    ----------
    cuts_selectors : bool
        Whether it accepts selectors.
    """

    cuts_selectors: ClassVar[bool] = False

    @abstractmethod
    def stream(self, call: Call, rank: int, element: DataType) -> Pieces:
        """The rank-`rank` stream of one element."""

    @abstractmethod
    def pieces(self, at: Setting, element: Array) -> list[Array]:
        """The golden model: the pieces of a tile, or of a selector as booleans."""

    def cuts_into(self) -> Parts:
        """What the pieces are, for timing on tiles and for transforms."""
        return "typed"

    def may_vanish(self, element: DataType) -> bool:
        """Whether an element can become an empty stream."""
        return False

    def cut_units(self, lanes: int, x: Stream, rank: int) -> Sequence[Any]:
        """The units of a FlatMap, one behind the other; none if the function has no circuit.

        Parameters
        ----------
        lanes : int
            Lanes of a beat; columns of tiles are static, and the last beat of a row may be padded.
        x : Stream
            The elements.
        rank : int
            Dims of the stream of an element, less one.

        Returns
        -------
        sequence of stepgen.hw.design.params.UnitParams
            Each has one input and one output.

        Raises
        ------
        StepError
            If there is no circuit for this stream.
        """
        return ()


_KINDS: dict[str, type[Function]] = {}
"""Every function by name, if its module is imported."""


def _load() -> None:
    importlib.import_module(HOMES["functions"])


def _register(kind: type[Function]) -> None:
    """Register a class by its name.

    Raises
    ------
    StepError
        If it lacks a method, or another function has its name.
    """
    _load()
    if not issubclass(kind, Mapped | Folded | Cut):
        raise StepError(
            f"the function {kind.__name__} at {user_line()} has no use: derive it from Mapped, "
            "Folded or Cut"
        )
    if "name" in {*vars(kind), *vars(kind).get("__annotations__", {})}:
        raise StepError(
            f"the function {kind.__name__} at {user_line()}: its name follows from that of the "
            f"class; leave name out, or call a parameter otherwise"
        )
    kind.name = registry.name_of(kind, "function", _KINDS)
    _KINDS[kind.name] = kind


def function_types() -> dict[str, type[Function]]:
    """Every function by name: those of stepgen, and users' own whose module is imported."""
    _load()
    return dict(sorted(_KINDS.items()))


def kind_of(name: str) -> type[Function] | None:
    """The function of this name; None if there is none."""
    _load()
    return _KINDS.get(name)


def function(name: str, /, **parameters: Any) -> Function:
    """The function of this name.

    Raises
    ------
    StepError
        If there is none or a parameter is not accepted.
    """
    if not isinstance(name, str) or name not in function_types():
        some = ", ".join(function_types())
        raise StepError(
            f"there is no function {shown(name)}, those are {some}; {registry.ONES_OWN}"
        )
    return maker(_KINDS[name])(**parameters)


@cache
def maker(kind: type[Function]) -> Callable[..., Function]:
    """The callable with which users make a function of this class.

    Raises
    ------
    StepError
        If it has parameters and is not a dataclass.
    """
    own = vars(kind)
    said = [k for k, hint in own.get("__annotations__", {}).items() if "ClassVar" not in str(hint)]
    if said and "__dataclass_fields__" not in own:
        raise StepError(
            f"the function {kind.name} has the parameters {', '.join(said)}, but its class "
            f"{kind.__name__} is not a dataclass: write @dataclass(frozen=True) above it"
        )
    return checked(kind, kind.name)
