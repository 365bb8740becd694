"""How expressions are written: as text, ``E0*min(1, T) + 3*ceil(T/4) + 2``, and for SymPy."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sympy

    from stepgen.ir.expr import Atom, Expr, Monomial, Number

_LAST = (2,)
"""Behind the order of every factor."""


def text(expr: Expr) -> str:
    """The terms in order."""
    if not expr.terms:
        return "0"
    terms = [_term(m, expr.terms[m]) for m in sorted(expr.terms, key=_monomial_order)]
    return " + ".join(terms).replace("+ -", "- ")


@cache
def natural(name: str) -> tuple[tuple[str, int], ...]:
    """An order of names in which E2 is before E10."""
    return tuple(
        (letters, int(digits or -1)) for letters, digits in re.findall(r"(\D*)(\d*)", name)
    )


@cache
def order(atom: Atom) -> tuple[Any, ...]:
    """Symbols by name, then calls by their text."""
    return (1 if atom.inside else 0, natural(str(atom)))


def _monomial_order(monomial: Monomial) -> list[Any]:
    """Lexicographic, higher powers first, a number last."""
    return [*((order(atom), -power) for atom, power in monomial), (_LAST,)]


def _term(monomial: Monomial, count: Number) -> str:
    """One term, such as ``3*E0**2*P/4``."""
    number = Fraction(count)
    above = [_power(atom, power) for atom, power in monomial if power > 0]
    below = [_power(atom, -power) for atom, power in monomial if power < 0]
    if abs(number.numerator) != 1 or not above:
        above.insert(0, str(abs(number.numerator)))
    if number.denominator != 1:
        below.insert(0, str(number.denominator))
    made = ("-" if number < 0 else "") + "*".join(above)
    if not below:
        return made
    return f"{made}/{below[0]}" if len(below) == 1 else f"{made}/({'*'.join(below)})"


def _power(atom: Atom, power: int) -> str:
    return f"{atom}**{power}" if power > 1 else str(atom)


def for_sympy(expr: Expr) -> sympy.Expr:
    """The same as an expression of SymPy."""
    import sympy

    calls = {"ceil": sympy.ceiling, "min": sympy.Min, "max": sympy.Max, "sum": sympy.Add}

    def whole(atom: Atom) -> sympy.Expr:
        if atom.call:
            return calls[atom.call](*(for_sympy(part) for part in atom.inside))
        known = {"positive": True} if atom.at_least_one else {"nonnegative": True}
        return sympy.Symbol(atom.name, integer=True, **known)

    return sympy.Add(
        *(
            sympy.Mul(
                sympy.Rational(Fraction(count).numerator, Fraction(count).denominator),
                *(whole(atom) ** power for atom, power in monomial),
            )
            for monomial, count in expr.terms.items()
        )
    )
