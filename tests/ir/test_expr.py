"""Expressions over dims: judged by numbers, and by SymPy."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import assume, given
from hypothesis import strategies as st

import stepgen as sg
from stepgen.ir.dims import Symbols
from stepgen.ir.expr import ONE, ZERO, Expr, as_expr, ceiling, max_of, min_of, sum_of, symbol
from stepgen.ir.extents import extent

NAMES = "TUV"
T, U, V = (sg.dynamic(name).expr for name in NAMES)
POINTS = [*itertools.product((0, 1, 2, 7), repeat=3)]


@dataclass
class Both:
    """An expression, and the numbers that it must have at all points."""

    expr: Expr
    values: list[Any]


def _both(name: str) -> Both:
    return Both(symbol(name), [point[NAMES.index(name)] for point in POINTS])


def _apply(ours: Callable[..., Expr], its: Callable[..., Any], *parts: Both) -> Both:
    values = zip(*(part.values for part in parts), strict=True)
    return Both(ours(*(part.expr for part in parts)), [its(*v) for v in values])


def _drawn(inner: st.SearchStrategy[Both]) -> st.SearchStrategy[Both]:
    plain = {
        "+": (lambda a, b: a + b,) * 2,
        "-": (lambda a, b: a - b,) * 2,
        "*": (lambda a, b: a * b,) * 2,
        "min": (min_of, min),
        "max": (max_of, max),
    }
    parts = [st.builds(lambda a, b, k=k: _apply(*plain[k], a, b), inner, inner) for k in plain]
    parts.append(
        st.builds(
            lambda a, n: _apply(lambda x: ceiling(x / n), lambda v: math.ceil(Fraction(v) / n), a),
            inner,
            st.integers(1, 8),
        )
    )
    return st.one_of(parts)


EXPRESSIONS = st.recursive(
    st.sampled_from(NAMES).map(_both)
    | st.integers(-9, 9).map(lambda n: Both(as_expr(n), [n] * len(POINTS))),
    _drawn,
    max_leaves=8,
)


def _at(expr: Expr, point: tuple[int, ...]) -> Any:
    return expr.evaluate(dict(zip(NAMES, point, strict=True)))


@given(EXPRESSIONS)
def test_numbers_are_those_of_the_operations(drawn: Both) -> None:
    assert [_at(drawn.expr, p) for p in POINTS] == drawn.values
    columns = {n: np.array(c) for n, c in zip(NAMES, zip(*POINTS, strict=True), strict=True)}
    assert np.broadcast_to(drawn.expr.evaluate(columns), len(POINTS)).tolist() == drawn.values
    if drawn.expr.positive:
        assert min(drawn.values) > 0
    if drawn.expr.natural:
        assert min(drawn.values) >= 0


@given(EXPRESSIONS)
def test_substitution_gives_the_same_numbers(drawn: Both) -> None:
    for point, value in zip(POINTS[::7], drawn.values[::7], strict=True):
        assert drawn.expr.subs(dict(zip((T, U, V), point, strict=True))) == value
    assert drawn.expr.subs({T: U, U: T}).subs({T: U, U: T}) == drawn.expr


@given(EXPRESSIONS)
def test_expressions_come_back_from_their_text_and_from_bytes(drawn: Both) -> None:
    symbols = Symbols()
    for name in NAMES:
        symbols.claim(sg.dynamic(name))
    assert extent(str(drawn.expr), symbols) == drawn.expr
    assert hash(pickle.loads(pickle.dumps(drawn.expr))) == hash(drawn.expr)


@given(EXPRESSIONS)
def test_factors_multiply_to_the_expression(drawn: Both) -> None:
    assert math.prod(drawn.expr.factors, start=ONE) == drawn.expr


@given(EXPRESSIONS, EXPRESSIONS)
def test_a_quotient_of_a_product_is_the_other_factor(drawn: Both, by: Both) -> None:
    assume(by.expr != ZERO)
    quotient = drawn.expr * by.expr / by.expr
    for point, value, divisor in zip(POINTS, drawn.values, by.values, strict=True):
        if divisor:
            assert _at(quotient, point) == value


@given(EXPRESSIONS)
def test_sympy_sees_the_same_numbers(drawn: Both) -> None:
    its = sympy.sympify(drawn.expr)
    names = sympy.symbols("T U V", integer=True, nonnegative=True)
    for point, value in zip(POINTS[::21], drawn.values[::21], strict=True):
        assert (
            its.xreplace(dict(zip(names, map(sympy.Integer, point), strict=True))).doit() == value
        )


@given(EXPRESSIONS)
def test_what_is_linear_is_a_slope_and_a_rest(drawn: Both) -> None:
    found = drawn.expr.linear_in(T)
    if found is not None:
        assert found[0] * T + found[1] == drawn.expr
        assert T not in found[0].free_symbols | found[1].free_symbols


def test_how_expressions_print() -> None:
    e2, e10 = symbol("E2"), symbol("E10")
    assert str(e10 + e2 * T + 3 + e2) == "E2*T + E2 + E10 + 3"
    assert str(ceiling(T / 4) * 3 - U**2 / 2) == "-U**2/2 + 3*ceil(T/4)"
    assert str(min_of(1, T) * U) == "U*min(1, T)"
    assert str(2 * T * (U + V)) == "2*T*U + 2*T*V"
    assert str(T / (U + 1)) == "T/(U + 1)"
    assert str(max_of(T, min_of(U, 4))) == "max(T, min(4, U))"
    assert str(ZERO) == "0"


def test_equal_expressions_are_equal_however_they_were_made() -> None:
    assert (T + U) * (T - U) == T * T - U * U
    assert {(T + U) * 2: 1}[2 * U + 2 * T] == 1
    assert ceiling(T / 4 + U) == ceiling(T / 4) + U
    assert symbol("T", positive=True) != T
    assert sum_of(T, -1 * T) == 0


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(TypeError, match="'T' is neither an expression over dims nor a rational"):
        T + "T"  # type: ignore[operator]
    with pytest.raises(TypeError, match="T depends on T"):
        int(T)
    with pytest.raises(ZeroDivisionError, match="T by 0"):
        T / 0
    assert sympy.Integer(3) * T == 3 * T


def test_numbers_are_compared() -> None:
    three = T - T + 3
    assert 2 < three <= 3 < three + 1
    assert (float(three / 2), int(three)) == (1.5, 3)
    with pytest.raises(TypeError, match="T depends on T"):
        assert T > 2
