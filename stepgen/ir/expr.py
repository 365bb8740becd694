"""Expressions over dims: extents, numbers of elements, and costs of a program.

An expression is a sum of products of symbols with rational coefficients, expanded, so that two
expressions are equal exactly if their terms are. ``ceil``, ``min`` and ``max`` of expressions stand
in products as symbols do. SymPy takes an `Expr` wherever it takes an expression of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, lru_cache, total_ordering
from math import ceil, gcd, lcm
from numbers import Rational
from typing import TYPE_CHECKING, Any, ClassVar

from stepgen.ir.expr_text import for_sympy, natural, order, text

if TYPE_CHECKING:
    import sympy

Number = int | Fraction
Monomial = tuple[tuple["Atom", int], ...]
"""Factors of a term, each with its power, in the order of `order`; none twice."""


@dataclass(frozen=True)
class Atom:
    """A factor that is not taken apart: a symbol, or a call.

    Attributes
    ----------
    call : str
        What of the expressions in it: ``ceil``, ``min``, ``max``, or ``sum`` for a sum by which
        something is divided; empty for a symbol.
    inside : tuple of Expr
        What the call is of.
    name : str
        Of a symbol.
    at_least_one : bool
        Whether a symbol is at least 1; if not, it is at least 0.
    """

    call: str
    inside: tuple[Expr, ...] = ()
    name: str = ""
    at_least_one: bool = False

    @cached_property
    def _hash(self) -> int:
        return hash((self.call, self.inside, self.name, self.at_least_one))

    def __hash__(self) -> int:
        return self._hash

    @property
    def positive(self) -> bool:
        """Whether it is known to be at least 1 in every run."""
        if not self.call:
            return self.at_least_one
        return (any if self.call == "max" else all)(part.positive for part in self.inside)

    @property
    def natural(self) -> bool:
        """Whether it is known to be at least 0."""
        if not self.call:
            return True
        return (any if self.call == "max" else all)(part.natural for part in self.inside)

    def subs(self, values: Mapping[Expr, Expr | int]) -> Expr:
        """The same with other expressions in place of symbols."""
        if not self.call:
            return as_expr(values.get(_single(self), _single(self)))
        return _CALLS[self.call](*(part.subs(values) for part in self.inside))

    def __str__(self) -> str:
        inside = ", ".join(map(str, self.inside))
        return self.name or f"{'' if self.call == 'sum' else self.call}({inside})"


@total_ordering
class Expr:
    """A sum of products of symbols; see the module.

    Attributes
    ----------
    terms : dict of tuple to int or Fraction
        The coefficient of each product of factors.
    """

    EXAMPLE: ClassVar[str] = "sg.static(4).expr"

    def __init__(self, terms: dict[Monomial, Number]) -> None:
        self.terms = terms

    @cached_property
    def _hash(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        """For another process, in which names have other hashes."""
        return Expr, (self.terms,)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Expr):
            return self is other or self.terms == other.terms
        return isinstance(other, Rational) and self.terms == as_expr(other).terms

    def __lt__(self, other: Expr | Number) -> bool:
        """Of numbers alone."""
        return bool(self._constant < as_expr(other)._constant)

    def __add__(self, other: Expr | Number) -> Expr:
        return sum_of(self, other)

    __radd__ = __add__

    def __neg__(self) -> Expr:
        return Expr({monomial: -count for monomial, count in self.terms.items()})

    def __sub__(self, other: Expr | Number) -> Expr:
        return sum_of(self, -as_expr(other))

    def __rsub__(self, other: Expr | Number) -> Expr:
        return sum_of(other, -self)

    def __mul__(self, other: Expr | Number) -> Expr:
        return product_of(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Expr | Number) -> Expr:
        other = as_expr(other)
        if other.number:
            return product_of(self, 1 / Fraction(other.number))
        content, common, rest = other.factored
        if not content:
            raise ZeroDivisionError(f"{self} by 0")
        under = tuple((atom, -power) for atom, power in common)
        below = Expr({under: _plain(1 / Fraction(content))})
        if len(rest.terms) == 1:
            (over,) = rest.terms
            return product_of(self, below, Expr({tuple((a, -p) for a, p in over): 1}))
        number, shared, mine = self.factored
        if mine == rest:
            return product_of(Expr({shared: number}), below)
        return product_of(self, below, Expr({((Atom("sum", (rest,)), -1),): 1}))

    def __rtruediv__(self, other: Expr | Number) -> Expr:
        return as_expr(other) / self

    def __pow__(self, power: int) -> Expr:
        found = product_of(*[self] * abs(power))
        return found if power >= 0 else 1 / found

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __int__(self) -> int:
        return int(self._constant)

    def __float__(self) -> float:
        return float(self._constant)

    @property
    def _constant(self) -> Number:
        if self.number is None:
            raise TypeError(f"{self} depends on {', '.join(map(str, self.free_symbols))}")
        return self.number

    @property
    def number(self) -> Number | None:
        """The value of an expression without symbols, else None."""
        return self.terms.get((), None if self.terms else 0) if len(self.terms) < 2 else None

    @property
    def integer(self) -> int | None:
        """The same, if it is an integer."""
        return number if isinstance(number := self.number, int) else None

    @cached_property
    def is_symbol(self) -> bool:
        """Whether it is a symbol and nothing else."""
        return (atom := self.atom) is not None and not atom.call

    @property
    def name(self) -> str:
        """The name of a symbol."""
        atom = self.atom
        assert atom is not None, f"{self} is an expression"
        return atom.name

    @property
    def atom(self) -> Atom | None:
        """The only factor of the only term."""
        if len(self.terms) == 1:
            ((monomial, count),) = self.terms.items()
            if count == 1 and len(monomial) == 1 and monomial[0][1] == 1:
                return monomial[0][0]
        return None

    @cached_property
    def free_symbols(self) -> frozenset[Expr]:
        """The symbols in it, each as an expression."""
        found: set[Expr] = set()
        for monomial in self.terms:
            for atom, _ in monomial:
                if not atom.call:
                    found.add(_single(atom))
                for part in atom.inside:
                    found |= part.free_symbols
        return frozenset(found)

    @cached_property
    def positive(self) -> bool:
        """Whether it is known to be above 0 in every run."""
        return self.natural and any(
            all(atom.positive for atom, _ in monomial) for monomial in self.terms
        )

    @cached_property
    def natural(self) -> bool:
        """Whether it is known to be at least 0 in every run."""
        return all(
            count > 0 and all(atom.natural for atom, _ in monomial)
            for monomial, count in self.terms.items()
        )

    @cached_property
    def factors(self) -> tuple[Expr, ...]:
        """What it is a product of: a number, symbols, calls, and a sum without common factors."""
        number, common, rest = self.factored
        found = [_single(atom) for atom, power in common for _ in range(power)]
        found += [] if rest == 1 else [rest]
        return (*found,) if number == 1 and found else (constant(number), *found)

    @cached_property
    def factored(self) -> tuple[Number, Monomial, Expr]:
        """A number and factors that all terms share, and what is left."""
        if not self.terms:
            return 0, (), ONE
        if len(self.terms) == 1:
            ((monomial, only),) = self.terms.items()
            below = tuple(pair for pair in monomial if pair[1] < 0)
            over = tuple(pair for pair in monomial if pair[1] > 0)
            return only, over, Expr({below: 1}) if below else ONE
        number = _content(self.terms.values())
        if number == 1 and not self._shared():
            return 1, (), self
        counts = [*map(Fraction, self.terms.values())]
        powers = [dict(monomial) for monomial in self.terms]
        low = {atom: min(one.get(atom, 0) for one in powers) for atom in powers[0]}
        common = {atom: power for atom, power in low.items() if power > 0}
        rest = {
            tuple((a, p - common.get(a, 0)) for a, p in m if p != common.get(a)): _plain(n / number)
            for m, n in zip(self.terms, counts, strict=True)
        }
        return _plain(number), (*common.items(),), Expr(rest)

    def _shared(self) -> set[Atom]:
        """The factors that are in all terms."""
        shared: set[Atom] | None = None
        for monomial in self.terms:
            atoms = {atom for atom, _ in monomial}
            shared = atoms if shared is None else shared & atoms
            if not shared:
                break
        return shared or set()

    def linear_in(self, symbol: Expr) -> tuple[Expr, Expr] | None:
        """``(a, b)`` such that the expression is ``a * symbol + b``, if there are such."""
        slope: dict[Monomial, Number] = {}
        rest: dict[Monomial, Number] = {}
        one = symbol.atom
        for monomial, count in self.terms.items():
            others = tuple(pair for pair in monomial if pair[0] != one)
            if any(symbol in part.free_symbols for atom, _ in others for part in atom.inside):
                return None
            if len(others) == len(monomial):
                rest[monomial] = count
            elif dict(monomial)[one] == 1:  # type: ignore[index]
                slope[others] = count
            else:
                return None
        return (Expr(slope), Expr(rest)) if slope else None

    def subs(self, values: Mapping[Expr, Expr | int]) -> Expr:
        """The expression with other expressions in place of symbols.

        Parameters
        ----------
        values : mapping of Expr to Expr or int
            From symbols; those that it does not name stay.
        """
        if not self.free_symbols & values.keys():
            return self
        return sum_of(
            *(
                product_of(count, *(atom.subs(values) ** power for atom, power in monomial))
                for monomial, count in self.terms.items()
            )
        )

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """The number, or the array of numbers, that the expression is.

        Parameters
        ----------
        values : mapping of str to int or array
            Of all symbols, by name; arrays of integers are taken element by element.

        Returns
        -------
        int, Fraction or array
            Exact for integers; an array of floats where elements are not integers.
        """
        from stepgen.ir.expr_value import value  # numpy takes a while to load

        return value(self, values)

    @cached_property
    def _text(self) -> str:
        return text(self)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Expr({self})"

    def _sympy_(self) -> sympy.Expr:
        """The same for SymPy."""
        return for_sympy(self)


ZERO, ONE = Expr({}), Expr({(): 1})


def constant(number: Number) -> Expr:
    """A number as an expression."""
    return _of_number(_plain(number))


@lru_cache(1 << 12)
def _of_number(number: Number) -> Expr:
    return Expr({(): number}) if number else ZERO


def _content(counts: Collection[Number]) -> Number:
    """The greatest number of which all are integer multiples."""
    whole = [count for count in counts if isinstance(count, int)]
    if len(whole) == len(counts):
        return gcd(*whole)
    exact = [*map(Fraction, counts)]
    return Fraction(gcd(*(n.numerator for n in exact)), lcm(*(n.denominator for n in exact)))


def symbol(name: str, *, positive: bool = False) -> Expr:
    """A symbol for an integer of at least 0, or of at least 1."""
    return _single(Atom("", name=name, at_least_one=positive))


def as_expr(value: Any) -> Expr:
    """An expression, or a rational number of Python or SymPy, as an expression.

    Raises
    ------
    TypeError
        If it is something else.
    """
    if isinstance(value, Expr):
        return value
    if type(value) is int:
        return _of_number(value)
    if isinstance(value, Rational):
        return constant(Fraction(int(value.numerator), int(value.denominator)))
    raise TypeError(f"{value!r} is neither an expression over dims nor a rational number")


def sum_of(*parts: Expr | Number) -> Expr:
    """The sum of expressions."""
    terms: dict[Monomial, Number] = {}
    for part in parts:
        for monomial, count in as_expr(part).terms.items():
            total = _plain(terms.get(monomial, 0) + count)
            if total:
                terms[monomial] = total
            else:
                del terms[monomial]
    return Expr(terms)


def product_of(*parts: Expr | Number) -> Expr:
    """The product of expressions."""
    factor: Number = 1
    terms: dict[Monomial, Number] = {(): 1}
    for part in map(as_expr, parts):
        if (number := part.number) is not None:
            factor *= number
            continue
        found: dict[Monomial, Number] = {}
        for right, by in part.terms.items():
            for left, count in terms.items():
                monomial = _joined(left, right)
                total = _plain(found.get(monomial, 0) + count * by)
                if total:
                    found[monomial] = total
                else:
                    del found[monomial]
        terms = found
    if not factor or terms.keys() == ONE.terms.keys():
        return constant(factor * terms.get((), 0))
    return Expr(terms if factor == 1 else {m: _plain(c * factor) for m, c in terms.items()})


def ceiling(expr: Expr) -> Expr:
    """The expression rounded up to an integer: ``ceil(E0/4)``."""
    rest = {m: c for m, c in expr.terms.items() if not (isinstance(c, int) and _is_whole(m))}
    if not rest:
        return expr
    number = Expr(rest).number
    above = constant(ceil(number)) if number is not None else _single(Atom("ceil", (Expr(rest),)))
    return sum_of(expr, -Expr(rest), above)


def min_of(*parts: Expr | Number) -> Expr:
    """The smallest of expressions: ``min(1, E0)``."""
    return _extreme("min", min, parts)


def max_of(*parts: Expr | Number) -> Expr:
    """The largest of expressions."""
    return _extreme("max", max, parts)


def _extreme(
    call: str,
    choose: Callable[[list[Number]], Number],
    parts: Iterable[Expr | Number],
) -> Expr:
    """A call of ``min`` or ``max``: without calls inside it, with one number, nothing twice."""
    flat: dict[Expr, None] = {}
    for part in map(as_expr, parts):
        atom = part.atom
        flat |= dict.fromkeys(atom.inside if atom is not None and atom.call == call else (part,))
    numbers = [part.number for part in flat if part.number is not None]
    rest = sorted((p for p in flat if p.number is None), key=lambda p: natural(str(p)))
    if not rest:
        return constant(choose(numbers))
    if not numbers:
        return rest[0] if len(rest) == 1 else _single(Atom(call, (*rest,)))
    number = choose(numbers)
    if number <= 0 and all(part.natural for part in rest):
        return max_of(*rest) if call == "max" else constant(number)
    return _single(Atom(call, (constant(number), *rest)))


def _is_whole(monomial: Monomial) -> bool:
    """Whether a product of factors is an integer."""
    return all(
        power > 0 and (atom.call in ("", "ceil") or all(map(_is_integral, atom.inside)))
        for atom, power in monomial
    )


def _is_integral(expr: Expr) -> bool:
    return all(isinstance(c, int) and _is_whole(m) for m, c in expr.terms.items())


def _plain(number: Number) -> Number:
    return number.numerator if number.denominator == 1 else number


@cache
def _single(atom: Atom) -> Expr:
    terms: dict[Monomial, Number] = {((atom, 1),): 1}
    return Expr(terms)


def _joined(left: Monomial, right: Monomial) -> Monomial:
    """The product of two products."""
    if not left or not right:
        return left or right
    powers = dict(left)
    for atom, power in right:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(((a, p) for a, p in powers.items() if p), key=lambda pair: order(pair[0])))


_CALLS: dict[str, Callable[..., Expr]]
_CALLS = {"ceil": ceiling, "min": min_of, "max": max_of, "sum": sum_of}
