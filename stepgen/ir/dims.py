"""Dims: extents of the dimensions of streams and tiles.

A dim is *static* (an integer), *dynamic* (one number per run, a symbol or an expression) or
*ragged* (several values within one stream; an expression that contains a ragged dim becomes a fresh
ragged dim). If the types give an upper bound, a dim has it; on-chip buffers are sized by it.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import ClassVar, Literal

from stepgen.ir.arguments import MOST_BITS, checked, take
from stepgen.ir.errors import StepError
from stepgen.ir.expr import Expr, ceiling, constant, min_of, product_of, sum_of, symbol
from stepgen.ir.names import identifier
from stepgen.ir.where import user_line

Kind = Literal["static", "dynamic", "ragged"]


@dataclass(frozen=True, eq=False)
class Dim:
    """The extent of one dimension.

    Attributes
    ----------
    expr : Expr
        The extent; a number for static dims.
    kind : {"static", "dynamic", "ragged"}
        What is known at compile time.
    bound : int or None
        Upper bound; None if the types give none.
    """

    EXAMPLE: ClassVar[str] = "sg.static(4)"

    expr: Expr
    kind: Kind
    bound: int | None = None

    @property
    def static(self) -> int | None:
        """The extent of a static dim, else None."""
        return self.expr.integer if self.kind == "static" else None

    @property
    def is_ragged(self) -> bool:
        """Whether the dim takes several values within one stream."""
        return self.kind == "ragged"

    @property
    def may_be_empty(self) -> bool:
        """Whether, by the type, the extent can be 0."""
        return not self.expr.positive

    def __int__(self) -> int:
        """The extent of a static dim.

        Raises
        ------
        StepError
            If it is known only at run time.
        """
        if self.static is None:
            raise StepError(f"int at {user_line()}: the dim {self} is known only at run time")
        return self.static

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Dim):
            return self.expr == other.expr
        return isinstance(other, int) and self.static == other

    def __hash__(self) -> int:
        return hash(self.expr)

    def __str__(self) -> str:
        return str(self.expr)

    def __repr__(self) -> str:
        return f"Dim({self}, {self.kind}, bound={self.bound})"

    def same(self, other: Dim) -> bool:
        """Whether both extents are equal in every run.

        Parameters
        ----------
        other : Dim
            Of the same graph.

        Returns
        -------
        bool
        """
        return self == other


DimLike = int | str | Dim
"""Ways to write a dim: an extent, the name of a dynamic dim, or a `Dim`."""


@checked
def static(extent: int) -> Dim:
    """A dim of known extent.

    Parameters
    ----------
    extent : int
        At least 0.

    Returns
    -------
    Dim

    Raises
    ------
    StepError
        If it is not an integer, or below 0.
    """
    if extent < 0:
        raise StepError(f"a dim at {user_line()} must be an integer of at least 0, not {extent}")
    return Dim(constant(extent), "static", extent)


@checked
def dynamic(name: str, *, bound: int | None = None, positive: bool = False) -> Dim:
    """A dynamic-regular dim: one extent per run, known by name (paper, section 3.1).

    Parameters
    ----------
    name : str
        Name of the symbol, an ASCII identifier and not a Python keyword; the same name is the
        same dim within a graph.
    bound : int, optional
        Upper bound of the extent.
    positive : bool
        Whether the extent is known to be at least 1.

    Returns
    -------
    Dim

    Raises
    ------
    StepError
        If the name is not such an identifier, or the bound is below 0, or 0 and `positive`.
    """
    return _named_dim(name, "dynamic", bound, positive)


@checked
def ragged(name: str, *, bound: int | None = None, positive: bool = False) -> Dim:
    """A ragged dim: several extents within one stream (paper, section 3.1).

    Parameters
    ----------
    name : str
        Name of the symbol, an ASCII identifier and not a Python keyword; the same name is the
        same dim within a graph.
    bound : int, optional
        Upper bound of every extent.
    positive : bool
        Whether every extent is known to be at least 1.

    Returns
    -------
    Dim

    Raises
    ------
    StepError
        If the name is not such an identifier, or the bound is below 0, or 0 and `positive`.
    """
    return _named_dim(name, "ragged", bound, positive)


def as_dim(value: DimLike) -> Dim:
    """The dim of an integer, a name or a `Dim`."""
    if isinstance(value, Dim):
        return value
    if type(value) is int and 0 <= value < 1 << MOST_BITS:
        return Dim(constant(value), "static", value)
    given: int | str = take(value, int | str | Dim, "a dim", "it")
    return dynamic(given) if isinstance(given, str) else static(given)


def regular(expr: Expr, bound: int | None) -> Dim:
    """The static or dynamic dim with this extent."""
    if expr.integer is not None:
        return Dim(expr, "static", expr.integer)
    return Dim(expr, "dynamic", bound)


def _named_dim(name: str, kind: Kind, bound: int | None, positive: bool) -> Dim:
    if bound is not None and bound < positive:
        least = "1, since it is positive" if positive else "0"
        raise StepError(
            f"the bound of the dim {name} at {user_line()} must be at least {least}, not {bound}"
        )
    return Dim(symbol(_named(name), positive=positive), kind, bound)


def _named(name: str) -> str:
    what = f"the name of a dim at {user_line()}"
    if keyword.iskeyword(identifier(name, what, longest=None)):
        raise StepError(f"{what} can't be {name!r}, a word of Python")
    return name


def _described(dim: Dim) -> str:
    """A named dim as it was declared."""
    bound = "without a bound" if dim.bound is None else f"of at most {dim.bound}"
    return f"{dim.kind} {bound}, {'at least 1' if dim.expr.positive else 'maybe 0'}"


class Symbols:
    """The symbols of one graph; makes new ones with unused names."""

    def __init__(self) -> None:
        self._taken: dict[str, Dim] = {}
        self._next: dict[str, int] = {}
        self._fresh: set[str] = set()

    def claim(self, dim: Dim) -> Dim:
        """Register the symbols of a user's dim.

        A dim that the graph named may come with the bound that a stream has for it.

        Raises
        ------
        StepError
            If the name is already that of a dim of another kind, bound or assumption.
        """
        for one in dim.expr.free_symbols:
            alone = dim.expr == one
            mine = dim if alone else Dim(one, dim.kind)
            known = self._taken.setdefault(one.name, mine)
            same = known.expr == one
            if alone:
                bounded = one.name in self._fresh or mine.bound == known.bound
                same = same and bounded and mine.kind == known.kind
            if not same:
                raise StepError(
                    f"the dim {one.name} at {user_line()} is {_described(mine)}, but before it "
                    f"was {_described(known)}: one name is one dim"
                )
        return dim

    def find(self, name: str) -> Dim:
        """The dim of this name.

        Raises
        ------
        StepError
            If there is none.
        """
        if name not in self._taken:
            raise StepError(f"there is no dim named {name!r}")
        return self._taken[name]

    def fresh(
        self, prefix: str, kind: Kind, bound: int | None = None, *, positive: bool = False
    ) -> Dim:
        """A new dim named `prefix` and a number."""
        number = self._next.get(prefix, 0)
        while f"{prefix}{number}" in self._taken:
            number += 1
        self._next[prefix] = number + 1
        dim = Dim(symbol(f"{prefix}{number}", positive=positive), kind, bound)
        self._taken[dim.expr.name] = dim
        self._fresh.add(dim.expr.name)
        return dim

    def absorbed(self, dims: Iterable[Dim], bound: int | None, *, positive: bool = False) -> Dim:
        """A new ragged dim for an expression of `dims`, named after a ragged one."""
        dims = list(dims)
        names = [min(s.name for s in d.expr.free_symbols) for d in dims if d.expr.free_symbols]
        ragged_names = [str(d) for d in dims if d.is_ragged]
        base = re.sub(r"_\d+$", "", (ragged_names or names)[0])
        return self.fresh(base + "_", "ragged", bound, positive=positive)


def product_bound(dims: Iterable[Dim]) -> int | None:
    """Upper bound of a product of dims, None if one of them has none."""
    bounds = [d.bound for d in dims]
    return None if any(b is None for b in bounds) else prod(b for b in bounds if b is not None)


def buffer_bound(what: str, dims: Iterable[Dim]) -> int:
    """Upper bound of a product of dims, for the size of a buffer; `what` is its name in messages.

    Raises
    ------
    StepError
        If it has none.
    """
    dims = list(dims)
    bound = product_bound(dims)
    if bound is None:
        open_dim = next(d for d in dims if d.bound is None)
        raise StepError(
            f"{what} has no upper bound, so no buffer can be made for it: {open_dim} needs one, by "
            f"bound= or most= where it is made"
        )
    return bound


def held_at_once(dims: Iterable[Dim]) -> int:
    """How many of a stream's elements, or chunks, a memory at full rate holds; `dims` count them.

    2, since one is written while the one before it is read, or 1 where no second one comes.
    """
    most = product_bound(dims)
    return 2 if most is None else min(2, max(1, most))


def product(dims: Sequence[Dim], symbols: Symbols) -> Dim:
    """The dim that results when adjacent dims are flattened.

    Regular dims multiply. If one is ragged the result is a fresh ragged dim (paper, section 3),
    unless all others are 1.
    """
    rest = [d for d in dims if d.static != 1]
    if not rest:
        return static(1)
    if len(rest) == 1:
        return rest[0]
    if any(d.static == 0 for d in rest):
        return static(0)
    bound = product_bound(rest)
    if any(d.is_ragged for d in rest):
        positive = not any(d.may_be_empty for d in rest)
        return symbols.absorbed(rest, bound, positive=positive)
    expr = times(d.expr for d in rest)
    # min(1, E) * E is E, whose bound can be tighter than the product of bounds.
    same = [d.bound for d in rest if d.expr == expr and d.bound is not None]
    return regular(expr, min([b for b in [bound, *same] if b is not None], default=None))


def joined(dims: Sequence[Dim], total: Expr | None, symbols: Symbols) -> Dim:
    """The product of dims, if the result may be the outermost dim of a stream.

    An outermost dim has one value per run, so it is regular even if one of `dims` is ragged.

    Parameters
    ----------
    dims : sequence of Dim
        Adjacent dims, outermost first.
    total : Expr or None
        Number of elements in all, if the result is the outermost dim.
    symbols : Symbols
        For a fresh ragged dim.
    """
    if total is not None and len(dims) > 1 and any(d.is_ragged for d in dims):
        return regular(total, product_bound(dims))
    return product(dims, symbols)


def add(dims: Sequence[Dim]) -> Dim:
    """The sum of regular dims."""
    bounds = [d.bound for d in dims]
    bound = None if None in bounds else sum(b for b in bounds if b is not None)
    return regular(sum_of(*(d.expr for d in dims)), bound)


def ceil_div(dim: Dim, chunk: int, symbols: Symbols) -> Dim:
    """Number of chunks of a dim whose last chunk is padded."""
    if chunk == 1:
        return dim
    bound = None if dim.bound is None else -(-dim.bound // chunk)
    if dim.is_ragged:
        return symbols.absorbed([dim], bound, positive=not dim.may_be_empty)
    return regular(ceiling(dim.expr / chunk), bound)


def chunk_of(dim: Dim, chunk: int, symbols: Symbols) -> Dim:
    """Length of the chunks of a dim whose last chunk is shorter, if need be."""
    if dim.static is not None and (dim.static % chunk == 0 or dim.static < chunk):
        return static(min(dim.static, chunk) or chunk)
    bound = chunk if dim.bound is None else min(chunk, dim.bound)
    if dim.static is not None:
        return symbols.fresh("D", "ragged", bound, positive=True)
    return symbols.absorbed([dim], bound, positive=True)


def nonempty(dim: Dim) -> Dim:
    """1 if the dim is at least 1, else 0."""
    if not dim.may_be_empty:
        return static(1)
    bound = 1 if dim.bound is None else min(1, dim.bound)
    return regular(_indicator(dim.expr), bound)


def indicators(expr: Expr) -> list[Expr]:
    """The factors of an extent that are 1 if something is not empty, else 0."""
    return [f for f in expr.factors if _is_indicator(f)]


def times(factors: Iterable[Expr]) -> Expr:
    """A product in which ``min(1, E) * E`` is simplified to ``E``."""
    plain: list[Expr] = []
    flags: dict[Expr, None] = {}
    for factor in factors:
        for part in factor.factors:
            if _is_indicator(part):
                flags[part] = None
            else:
                plain.append(part)
    if flags:
        implied = {_indicator(f) for f in plain}
        return product_of(*plain, *(f for f in flags if f not in implied))
    return product_of(*plain)


def _is_indicator(expr: Expr) -> bool:
    return expr.number is None and _indicator(expr) == expr


@cache
def _indicator(expr: Expr) -> Expr:
    """1 where an extent is at least 1, else 0; that of a product is that of its factors."""
    if expr.positive:
        return constant(1)
    factors = [f for f in expr.factors if not f.positive]
    if factors != [expr]:
        return _indicator(factors[0]) if len(factors) == 1 else min_of(1, product_of(*factors))
    if expr.atom is not None and expr.atom.call == "ceil":
        return _indicator(expr.atom.inside[0])
    return min_of(1, expr)


def show_shape(shape: Iterable[Dim]) -> str:
    """Text of a shape, outermost dim first: ``[E0, 1]``."""
    return f"[{', '.join(str(d) for d in shape)}]"
