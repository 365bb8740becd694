"""The numbers that expressions are, for integers and arrays in place of symbols."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import reduce
from math import ceil, lcm
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from stepgen.ir.expr import Atom, Expr


def value(expr: Expr, values: Mapping[str, Any]) -> Any:
    """See `Expr.evaluate`."""
    known: dict[Atom, Any] = {}
    # Over one denominator, so that integers stay integers.
    shared = lcm(*(Fraction(count).denominator for count in expr.terms.values()))
    total: Any = 0
    for monomial, count in expr.terms.items():
        term: Any = int(count * shared)
        for atom, power in monomial:
            if atom not in known:
                known[atom] = _of_atom(atom, values)
            term = term * _raised(known[atom], power)
        total = total + term
    if _is_array(total):
        whole = total.dtype.kind in "iu" and not (total % shared).any()
        return total // shared if whole else total / shared
    exact = Fraction(total) / shared
    return exact.numerator if exact.denominator == 1 else exact


def _of_atom(atom: Atom, values: Mapping[str, Any]) -> Any:
    if not atom.call:
        return values[atom.name]
    inside = [value(part, values) for part in atom.inside]
    if atom.call == "ceil":
        return np.ceil(inside[0]) if _is_array(inside[0]) else ceil(inside[0])
    extreme = {"min": _smaller, "max": _larger}.get(atom.call)
    return reduce(extreme, inside) if extreme else inside[0]


def _raised(number: Any, power: int) -> Any:
    if power > 0:
        return number**power
    return number ** float(power) if _is_array(number) else Fraction(number) ** power


def _smaller(a: Any, b: Any) -> Any:
    return np.minimum(a, b) if _is_array(a) or _is_array(b) else min(a, b)


def _larger(a: Any, b: Any) -> Any:
    return np.maximum(a, b) if _is_array(a) or _is_array(b) else max(a, b)


def _is_array(number: Any) -> bool:
    return isinstance(number, (np.ndarray, np.generic))
