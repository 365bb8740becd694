"""Data types of streams: tiles, selectors, buffers, tuples (paper, section 3.1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

from stepgen.ir.arguments import shown, take, take_fields
from stepgen.ir.dims import Dim, DimLike, as_dim, show_shape
from stepgen.ir.errors import StepError
from stepgen.ir.expr import Expr, constant, product_of, sum_of
from stepgen.ir.where import user_line


@dataclass(frozen=True)
class ElementType:
    """The type of one element of a tile.

    Attributes
    ----------
    name : str
        Its name in programs.
    bits : int
        Width on a wire.
    bytes : int
        Size in memory.
    packed : int
        Elements of so many bytes in memory. Those of which there are several are in tensors alone:
        loads widen them.
    """

    name: str
    bits: int
    bytes: int
    packed: int = 1

    @property
    def on_chip(self) -> ElementType:
        """The element type of tiles that a load makes of it."""
        return self if self.packed == 1 else int8

    @property
    def limits(self) -> tuple[int, int] | None:
        """Smallest and largest number; None for floats."""
        if self.name in ("bf16", "f32"):
            return None
        signed = self.name.startswith("int")
        return (-(1 << self.bits - 1) if signed else 0, (1 << self.bits - signed) - 1)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name

    def __getitem__(self, shape: tuple[DimLike, DimLike]) -> Tile:
        """``int8[1, 64]`` is a tile of one row and 64 columns."""
        if not isinstance(shape, tuple) or len(shape) != 2:
            raise StepError(
                f"a tile at {user_line()}: {self}[rows, cols] takes 2 extents, not {shown(shape)}"
            )
        return Tile(*shape, self)


int4 = ElementType("int4", 4, 1, packed=2)
int8 = ElementType("int8", 8, 1)
int16 = ElementType("int16", 16, 2)
int32 = ElementType("int32", 32, 4)
bf16 = ElementType("bf16", 16, 2)
f32 = ElementType("f32", 32, 4)
bool_ = ElementType("bool", 1, 1)
address = ElementType("address", 64, 8)

ElementName = Literal["int4", "int8", "int16", "int32", "bf16", "f32", "bool", "address"]
"""How element types are written in texts."""

INTEGERS: tuple[ElementType, ...] = (int8, int16, int32)
"""Element types of whole numbers with a sign, narrow ones first."""
FLOATS: tuple[ElementType, ...] = (bf16, f32)
"""Element types of floating-point numbers."""
NUMBERS: tuple[ElementType, ...] = (*INTEGERS, *FLOATS)
"""Element types of numbers."""

ELEMENTS: dict[str, ElementType] = {e.name: e for e in (*NUMBERS, bool_, address)}
"""Every element type of tiles by its name."""
STORED: dict[str, ElementType] = {int4.name: int4, **ELEMENTS}
"""Every element type of tensors by its name."""


def wide(narrow: ElementType) -> ElementType:
    """The element type of sums: int32 for integers, f32 for floats."""
    return int32 if narrow in INTEGERS else f32 if narrow in FLOATS else narrow


def element(value: ElementType | str, among: dict[str, ElementType] = ELEMENTS) -> ElementType:
    """The element type, from a type or its name: by default of tiles."""
    if isinstance(value, ElementType):
        return value
    if not isinstance(value, str) or value not in among:
        some = ", ".join(among)
        raise StepError(f"{shown(value)} at {user_line()} is not an element type, those are {some}")
    return among[value]


MOST_CONSUMERS = 1 << 14
"""Most consumers of one stream: partitions and forks make a stream for each."""


class DataType:
    """Type of one element of a stream."""

    EXAMPLE: ClassVar[str] = "int8[1, 64]"

    @property
    def bytes(self) -> Expr:
        """Size of one element in bytes, symbolic in the dynamic dims of tiles."""
        raise TypeError(f"{type(self).__name__} has no size")

    @property
    def dims(self) -> tuple[Dim, ...]:
        """All dims in the type."""
        return ()

    @property
    def leaves(self) -> tuple[DataType, ...]:
        """The items' types, of nested tuples too; of another type itself alone."""
        return (self,)


@dataclass(frozen=True)
class Tile(DataType):
    """A matrix, written ``sg.int8[1, 64]``; each extent static or known only at run time.

    Values are arrays ``[rows, cols]``.

    Parameters
    ----------
    rows, cols : int, str or Dim
        Extents.
    element : ElementType
        Type of its elements. A scalar is a tile of 1 x 1.

    Raises
    ------
    StepError
        If an extent is negative or not the name of a dim, or the element type is unknown.
    """

    rows: Dim
    cols: Dim
    element: ElementType

    def __init__(self, rows: DimLike, cols: DimLike, element: ElementType) -> None:
        object.__setattr__(self, "rows", as_dim(rows))
        object.__setattr__(self, "cols", as_dim(cols))
        object.__setattr__(self, "element", take(element, ElementType, "Tile", "element"))
        if element.packed > 1:
            raise StepError(
                f"a tile at {user_line()}: {element} is for tensors alone, loads make "
                f"{element.on_chip} of it"
            )

    @property
    def dims(self) -> tuple[Dim, Dim]:
        """Rows and columns."""
        return self.rows, self.cols

    @cached_property
    def elements(self) -> Expr:
        """Rows times columns."""
        return self.rows.expr * self.cols.expr

    @cached_property
    def bytes(self) -> Expr:
        """Size in bytes."""
        return self.elements * self.element.bytes

    def __str__(self) -> str:
        extents = [
            str(d) if d.expr.is_symbol or d.static is not None else f"({d})" for d in self.dims
        ]
        return f"{self.element} {'x'.join(extents)}"


@dataclass(frozen=True)
class Selector(DataType):
    """A multi-hot vector over `n` consumers, written ``sg.Selector(8, hot=2)``.

    Values are arrays of bool ``[n]``: consumer i is chosen where bit i is set. With `hot`, types
    know how many elements each selector chooses: a Reassemble has a static dim where it else has a
    ragged one.

    Parameters
    ----------
    n : int
        Number of consumers.
    hot : int, optional
        Number of bits set in every selector, if it is known (top-k routing).

    Raises
    ------
    StepError
        If `n` is below 1 or above the most consumers of a stream, or `hot` is not within ``0..n``.
    """

    n: int
    hot: int | None = None

    def __post_init__(self) -> None:
        take_fields(self)
        if not 1 <= self.n <= MOST_CONSUMERS:
            raise StepError(
                f"a selector at {user_line()}: it must have 1 to {MOST_CONSUMERS} consumers, "
                f"not {self.n}"
            )
        if self.hot is not None and not 0 <= self.hot <= self.n:
            raise StepError(
                f"a selector at {user_line()}: of {self.n} consumers it can't choose {self.hot}"
            )

    @property
    def bytes(self) -> Expr:
        """Size in bytes: one bit per consumer, rounded up."""
        return constant(-(-self.n // 8))

    def __str__(self) -> str:
        return f"selector {self.n}" if self.hot is None else f"selector {self.hot} of {self.n}"


def bits_set(hot: int) -> str:
    """So many bits of a selector, in words."""
    return "one bit" if hot == 1 else f"{hot} bits"


@dataclass(frozen=True)
class Buffer(DataType):
    """A reference to on-chip memory that holds a stream of tiles: made by Bufferize.

    Streamify reads what it holds, again and again.

    Parameters
    ----------
    tile : Tile
        Type of its tiles.
    shape : tuple of Dim
        Shape of the chunk, outermost first. Only the outermost dim may be ragged.

    Raises
    ------
    StepError
        If the tile or the shape is of another type.
    """

    tile: Tile
    shape: tuple[Dim, ...]

    def __post_init__(self) -> None:
        take_fields(self)

    @property
    def dims(self) -> tuple[Dim, ...]:
        """The shape and the dims of the tile."""
        return (*self.shape, *self.tile.dims)

    @property
    def bytes(self) -> Expr:
        """Size of the content in bytes."""
        return product_of(self.tile.bytes, *(d.expr for d in self.shape))

    @property
    def fewest_rows(self) -> int:
        """Rows that any content takes at least: an empty tile or group takes one, too."""
        return _rows(d.static or 0 for d in (*self.shape, self.tile.rows)) or 1

    @property
    def most_rows(self) -> int | None:
        """Rows that a content takes at most; None without a bound."""
        return _rows(d.bound for d in (*self.shape, self.tile.rows))

    def __str__(self) -> str:
        return f"buffer of {self.tile} {show_shape(self.shape)}"


def _rows(extents: Iterable[int | None]) -> int | None:
    """Rows of groups of these extents, outermost first; an empty group has no rows."""
    rows = 1
    for extent in extents:
        if not extent:
            return rows if extent == 0 else None
        rows *= extent
    return rows


@dataclass(frozen=True)
class TupleType(DataType):
    """Tuple of data types, made by Zip. Inputs and outputs have a port for each item.

    Parameters
    ----------
    items : tuple of DataType
        In the order of the streams.

    Raises
    ------
    StepError
        If an item is not a data type, or there are no items.
    """

    items: tuple[DataType, ...]

    def __post_init__(self) -> None:
        take_fields(self)
        if not self.items:
            raise StepError(f"a tuple at {user_line()}: it needs at least 1 item")

    @property
    def dims(self) -> tuple[Dim, ...]:
        """The dims of all items."""
        return tuple(d for item in self.items for d in item.dims)

    @property
    def leaves(self) -> tuple[DataType, ...]:
        """Those of all items, in order."""
        return tuple(leaf for item in self.items for leaf in item.leaves)

    @property
    def bytes(self) -> Expr:
        """Size in bytes of all items."""
        return sum_of(*(item.bytes for item in self.items))

    def __str__(self) -> str:
        return f"({', '.join(str(item) for item in self.items)})"


FLAG = Tile(1, 1, bool_)
"""One bit: padding flags of Reshape, and acknowledgements of stores."""
