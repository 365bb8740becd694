"""Functions of addresses, address ranges and selectors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from stepgen.functions.bases import SCALAR
from stepgen.hw.units.calculate import params as calculate
from stepgen.hw.units.one_hot import params as one_hot
from stepgen.hw.units.span import params as span
from stepgen.hw.units.tile_addresses import params as tile_addresses
from stepgen.ir.dims import Dim, product_bound, regular, static
from stepgen.ir.dtypes import DataType, Selector, Tile, address, bits_set
from stepgen.ir.errors import StepError
from stepgen.ir.expr import Expr, constant, sum_of
from stepgen.ir.function import Cut, Function, Mapped
from stepgen.ir.operator import Call
from stepgen.ir.pieces import Parts, Pieces
from stepgen.ir.setting import Setting
from stepgen.ir.stream import Routing, Stream
from stepgen.semantics.numbers import Array

RANGE = Tile(1, 2, address)
"""A range of addresses: its start and its length."""


def _bits_set(selector: Selector) -> int:
    """How many bits are set, one where its type does not say it."""
    return 1 if selector.hot is None else selector.hot


@dataclass(frozen=True)
class TileAddresses(Cut):
    """FlatMap only: a scalar address or a selector's bit e becomes e*count .. e*count+count-1.

    A region that several experts share loads the weights of the selected one with it (paper,
    section 5.2); the weights of all experts are consecutive in memory. Rank 0 concatenates the
    addresses of all elements, rank 1 keeps a group for each element. Addresses are tile numbers.
    Of a selector with several bits set, as `top_k` makes it, the lowest comes first; their number
    is that of its type.

    Parameters
    ----------
    count : int, optional
        Number of tiles for each e.
    """

    count: int = 1

    cuts_selectors: ClassVar[bool] = True
    reads_numbers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.count < 1:
            self.refuse(f"count must be at least 1, not {self.count}")

    def stream(self, call: Call, rank: int, element: DataType) -> Pieces:
        """``[count]`` scalars, for each bit that is set; with a leading 1 for rank 1."""
        selects = isinstance(element, Selector)
        named = _bits_set(element) if isinstance(element, Selector) else 1
        if not named or not (selects or element == SCALAR):
            call.fail(
                f"{self} needs {SCALAR} or selectors with at least one bit set, not "
                f"{call.inputs[0]}"
            )
        if rank > 1:
            call.fail(f"{self} makes streams of rank 0 or 1, not {rank}")
        dims = (static(1),) * rank + (static(named * self.count),)
        total = call.inputs[0].totals[0] * constant(named * self.count)
        return Pieces(dims, SCALAR, total)

    def cuts_into(self) -> Parts:
        """Addresses of tiles."""
        return "tiles"

    def pieces(self, at: Setting, element: Array) -> list[Array]:
        """``count`` scalars, for each bit that is set.

        Raises
        ------
        StepError
            If a selector has not as many bits set as its type says, or one if that says nothing;
            or an address gets too large.
        """
        if element.ndim == 1:
            numbers = np.flatnonzero(element).tolist()
            hot = _bits_set(at.given) if isinstance(at.given, Selector) else 1
            if len(numbers) != hot:
                needed = bits_set(hot)
                raise StepError(
                    f"{self} needs selectors with {needed} set, not one with {len(numbers)} of "
                    f"{len(element)} bits set"
                )
        else:
            numbers = [int(element[0, 0])]
            if (numbers[0] + 1) * self.count > 1 << 64:
                raise StepError(f"{self} gets {element[0, 0]}, whose tiles lie past all addresses")
        return [
            np.full((1, 1), number * self.count + i, at.dtype)
            for number in numbers
            for i in range(self.count)
        ]

    def largest_number(self, *types: DataType) -> int:
        """The last address of the last consumer of a selector."""
        (e,) = types
        return e.n * self.count - 1 if isinstance(e, Selector) else 0

    def cut_units(self, lanes: int, x: Stream, rank: int) -> Sequence[tile_addresses.TileAddresses]:
        """One unit, which counts."""
        bits, hot = (x.dtype.n, _bits_set(x.dtype)) if isinstance(x.dtype, Selector) else (0, 1)
        return (tile_addresses.TileAddresses(self.count, bits, grouped=rank > 0, hot=hot),)


@dataclass(frozen=True)
class OneHot(Cut):
    """FlatMap only: a selector becomes one selector for each bit that is set, lowest first.

    So data per choice, such as the weight of an expert for a token, can be routed like data per
    token: each consumer is selected equally often. A selector without set bits gives an empty
    group.
    """

    cuts_selectors: ClassVar[bool] = True
    reads_numbers: ClassVar[bool] = True

    def stream(self, call: Call, rank: int, element: DataType) -> Pieces:
        """``[1, K]`` selectors, K being the number of bits set: ragged unless `hot` is known."""
        selectors = call.inputs[0]
        if not isinstance(element, Selector):
            call.fail(f"{self} needs selectors, not {selectors}")
        if rank != 1:
            call.fail(f"{self} makes streams of rank 1, not {rank}")
        routing = call.graph.routing(selectors)
        if element.hot is not None:
            chosen, total = static(element.hot), selectors.totals[0] * constant(element.hot)
        else:
            chosen = call.symbols.fresh("K", "ragged", element.n)
            total = sum_of(*(count.expr for count in routing.counts))
        return Pieces((static(1), chosen), Selector(element.n, hot=1), total, routing)

    def cuts_into(self) -> Parts:
        """Bits that are set."""
        return "bits"

    def pieces(self, at: Setting, element: Array) -> list[Array]:
        """One selector for each bit that is set."""
        return list(np.eye(len(element), dtype=np.bool_)[element])

    def cut_units(self, lanes: int, x: Stream, rank: int) -> Sequence[one_hot.OneHot]:
        """One unit, with a state of as many bits as a selector has."""
        assert isinstance(x.dtype, Selector)
        return (one_hot.OneHot(bits=x.dtype.n),)


@dataclass(frozen=True)
class _OfRanges(Cut, abstract=True):
    """Makes a group of each range, with an element for each of its addresses."""

    most: int | None = None
    _: KW_ONLY
    one_by_one: bool = False

    reads_numbers: ClassVar[bool] = True
    makes: ClassVar[Literal["all", "first", "last"]]

    @property
    def least(self) -> int:
        """The shortest range."""
        return 1

    def __post_init__(self) -> None:
        if self.most is not None and self.most < 1:
            self.refuse(f"the longest range must be at least 1 long, not {self.most}")

    def length(self, call: Call, rank: int) -> tuple[Stream, Dim, Expr]:
        """The ranges, the length of one, and of all together.

        Raises
        ------
        StepError
            Through `call`, if the input has no ranges, the rank is not 1, or the same ranges were
            given another bound before.
        """
        ranges = call.inputs[0]
        if ranges.dtype != RANGE:
            call.fail(f"{self} needs ranges ({RANGE}: start and length), not {ranges}")
        if rank != 1:
            call.fail(f"{self} makes streams of rank 1, not {rank}")
        length, total = call.graph.span(ranges, self.most, self.least)
        if self.most is not None and length.bound != self.most:
            known = "any length" if length.bound is None else f"at most {length.bound}"
            call.fail(
                f"{self} takes ranges of at most {self.most}, but where the lengths of "
                f"{ranges.name} were used before they have {known}"
            )
        return ranges, length, total

    def largest_number(self, *types: DataType) -> int:
        """The longest range."""
        return self.most or 0

    def of_one(self) -> _OfRanges:
        """With 1 as the longest range."""
        return replace(self, most=1)

    def passes_one_by_one(self) -> bool:
        """By its parameter."""
        return self.one_by_one

    def range_of(self, element: Array) -> tuple[int, int]:
        """Start and length of a range, checked."""
        return _checked(self, element, self.least, self.most)

    def cut_units(self, lanes: int, x: Stream, rank: int) -> Sequence[span.Span]:
        """One unit, which counts."""
        length, _ = x.node.graph.span(x)
        positive = self.makes == "all" and not length.may_be_empty
        return (span.Span(self.makes, length.bound, positive),)


@dataclass(frozen=True)
class Span(_OfRanges):
    """FlatMap only: ``(start, length)`` becomes the addresses start .. start+length-1.

    A range of length 0 gives an empty group, unless `positive`. Streams made from ranges of the
    same lengths have the same dims: the same ranges, also repeated alike, or those that `as_range`
    makes of the same lengths.

    Parameters
    ----------
    most : int, optional
        Length of the longest range. Memory on chip that holds something for each address needs it;
        it is given where ranges are used first. A longer one ends the run with an error.
    positive : bool
        Whether each range has a length of at least 1. It is given where ranges are used first. An
        empty one ends the run with an error.
    one_by_one : bool
        Whether each element waits for what a feedback brings back from the one before it, so that
        nothing of two of them is under way. FIFOs are then made for ranges of 1 element, however
        long they are. Where elements do not wait, the circuit may.
    """

    positive: bool = False

    makes: ClassVar = "all"

    @property
    def least(self) -> int:
        """The shortest range."""
        return int(self.positive)

    def stream(self, call: Call, rank: int, element: DataType) -> Pieces:
        """``[1, L]`` scalars; L is ragged unless there is only one range."""
        ranges, length, total = self.length(call, rank)
        if self.positive and length.may_be_empty:
            call.fail(
                f"{self} takes ranges of at least 1, but where the lengths of {ranges.name} were "
                f"used before they may be empty"
            )
        return Pieces((static(1), length), SCALAR, total)

    def cuts_into(self) -> Parts:
        """The addresses of a range."""
        return "range"

    def pieces(self, at: Setting, element: Array) -> list[Array]:
        """As many scalars as the range is long."""
        start, length = self.range_of(element)
        return [np.full((1, 1), start + i, at.dtype) for i in range(length)]


@dataclass(frozen=True)
class AsRange(Mapped):
    """Addresses start and length -> the range ``(start, length)``.

    Ranges of the same lengths give `span` the same dims, wherever they start, such as those of a
    cache of keys and of one of values.
    """

    arity: ClassVar[int] = 2
    elements: ClassVar = (address,)
    length_operand: ClassVar = 1

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A range."""
        self.check(call, tiles)
        for tile in tiles:
            if tile != SCALAR:
                call.fail(f"{self} needs a start and a length as {SCALAR}, not {tile}")
        return RANGE

    def calculation(self, *types: DataType) -> tuple[str, int | None]:
        """A pair."""
        return "pair", None

    def compute(self, at: Setting, start: Array, length: Array) -> Array:
        """Both in a row."""
        return np.concatenate([start, length], axis=1)

    def unit(
        self, lanes: int, tiles: Sequence[Tile], without_stops: Sequence[bool]
    ) -> calculate.Calculate:
        """Wires side by side."""
        return calculate.of_tiles("pair", tiles)


@dataclass(frozen=True)
class SpanEnd(Mapped):
    """``(start, length)`` -> start + length - 1; the length must be at least 1."""

    elements: ClassVar = (address,)
    reads_numbers: ClassVar[bool] = True
    ends_range: ClassVar[bool] = True

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A scalar address."""
        self.check(call, tiles)
        if tiles[0] != RANGE:
            call.fail(f"{self} needs ranges ({RANGE}: start and length), not {tiles[0]}")
        return SCALAR

    def compute(self, at: Setting, x: Array) -> Array:
        """The last address."""
        start, length = _checked(self, x, 1, None)
        return np.full((1, 1), start + length - 1, at.dtype)

    def unit(self, lanes: int, tiles: Sequence[Tile], without_stops: Sequence[bool]) -> span.Span:
        """An adder."""
        return span.Span("end")


@dataclass(frozen=True)
class _OneOfEach(_OfRanges, abstract=True):
    """Selectors over 2 consumers, one per address, that select consumer 0 once per range."""

    def stream(self, call: Call, rank: int, element: DataType) -> Pieces:
        """``[1, L]`` selectors, with L as for `span`; consumer 0 is selected once per range."""
        ranges, length, total = self.length(call, rank)
        count, most = ranges.totals[0], product_bound(ranges.shape)
        rest = None if most is None or length.bound is None else most * (length.bound - 1)
        counts = regular(count, most), regular(total - count, rest)
        routing = Routing(counts, {}, once=(0,))
        return Pieces((static(1), length), Selector(2, hot=1), total, routing)

    @abstractmethod
    def special(self, length: int) -> int:
        """Number of the address within a range for which consumer 0 is selected."""

    def pieces(self, at: Setting, element: Array) -> list[Array]:
        """As many selectors as the range is long."""
        _, length = self.range_of(element)
        special = self.special(length)
        return [np.array([i == special, i != special]) for i in range(length)]


@dataclass(frozen=True)
class SpanFirst(_OneOfEach):
    """FlatMap only: ``(start, length)`` becomes consumer 0, then length-1 times consumer 1.

    A loop over a range uses it to select its initial value first, and then what is fed back. The
    length of a range must be at least 1.

    Parameters
    ----------
    most : int, optional
        Length of the longest range, as for `span`.
    one_by_one : bool
        Whether each element waits for the one before it, as for `span`.
    """

    makes: ClassVar = "first"

    def cuts_into(self) -> Parts:
        """Selectors that name the first address."""
        return "first"

    def special(self, length: int) -> int:
        """The first."""
        return 0


@dataclass(frozen=True)
class SpanLast(_OneOfEach):
    """FlatMap only: ``(start, length)`` becomes length-1 times consumer 1, then consumer 0.

    Used to route the last tile of a key cache, which is still being filled, separately. The length
    of a range must be at least 1.

    Parameters
    ----------
    most : int, optional
        Length of the longest range, as for `span`.
    one_by_one : bool
        Whether each element waits for the one before it, as for `span`.
    """

    makes: ClassVar = "last"

    def cuts_into(self) -> Parts:
        """Selectors that name the last address."""
        return "last"

    def special(self, length: int) -> int:
        """The last."""
        return length - 1


def _checked(function: Function, element: Array, least: int, most: int | None) -> tuple[int, int]:
    """Start and length of a range.

    Raises
    ------
    StepError
        If it is too short or too long, or ends behind the largest address.
    """
    start, length = (int(n) for n in element[0])
    if length < least:
        raise StepError(f"{function} needs ranges of at least {least}, but that at {start} is 0")
    if most is not None and length > most:
        raise StepError(
            f"{function} takes ranges of at most {most}, but that at {start} is {length} long"
        )
    if start + length > 1 << 64:
        raise StepError(
            f"{function} gets a range at {start} of length {length}, past all addresses"
        )
    return start, length
