"""Sums of products of bf16 against exact fractions, cut as the page on numbers says."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepgen as sg
from semantics.programs import execute
from stepgen.semantics import numbers
from stepgen.semantics.sums import FRACTION, Sums

LANES = (1, 2, 3, 4, 8)
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 2.0**-126, -(2.0**-126), 3.38e38, -3.38e38, 1e-40]


def drawn(rng: np.random.Generator, shape: tuple[int, int], spread: int) -> numbers.Array:
    x = rng.standard_normal(shape) * 2.0 ** rng.integers(-spread, spread + 1, shape)
    x[rng.random(shape) < 0.1] = 0
    return numbers.as_element(x, "bf16")


def exponent(x: float) -> int:
    return math.frexp(x)[1] - 1


def cut(x: Fraction, unit: int) -> Fraction:
    """`x` in whole units of ``2**unit``, towards zero."""
    return int(x / Fraction(2) ** unit) * Fraction(2) ** unit


def summed(row: list[float], column: list[float], lanes: int, start: float) -> Fraction:
    """One sum, element by element."""
    total, top = Fraction(start), exponent(start) if start else None
    for k in range(0, len(row), lanes):
        pairs = list(zip(row[k : k + lanes], column[k : k + lanes], strict=True))
        tops = [exponent(x) + exponent(w) for x, w in pairs if x and w]
        new = max([*tops, *([] if top is None else [top])], default=None)
        if new is None:
            continue
        unit = Fraction(2) ** (new - FRACTION)
        total = math.floor(total / unit) * unit
        total += sum((cut(Fraction(x) * Fraction(w), new - FRACTION) for x, w in pairs), Fraction())
        top = new
    return total


@given(st.integers(0, 2**32), st.sampled_from(LANES), st.integers(0, 40), st.booleans())
def test_each_sum_is_cut_and_rounded_as_stated(
    seed: int, lanes: int, spread: int, begins: bool
) -> None:
    rng = np.random.default_rng(seed)
    m, k, n = rng.integers(1, 4), rng.integers(0, 20), rng.integers(1, 4)
    a, b = drawn(rng, (m, k), spread), drawn(rng, (k, n), spread)
    start = numbers.as_element(rng.standard_normal((m, n)) * begins, "f32")
    got = Sums.of(start).plus(a, b, lanes).rounded()
    for i in range(m):
        for j in range(n):
            row, column = a[i].astype(float).tolist(), b[:, j].astype(float).tolist()
            exact = float(summed(row, column, lanes, float(start[i, j])))
            assert numbers.round_to(np.array(exact), "f32").tobytes() == got[i, j].tobytes()


@given(st.integers(0, 2**32), st.sampled_from(LANES), st.integers(0, 60))
def test_tiles_of_k_that_are_whole_slices_give_the_same_sum_as_one(
    seed: int, lanes: int, spread: int
) -> None:
    rng = np.random.default_rng(seed)
    a, b = drawn(rng, (3, 4 * lanes), spread), drawn(rng, (4 * lanes, 2), spread)
    start = Sums.of(np.zeros((3, 2), np.float32))
    cut_at = lanes * int(rng.integers(0, 5))
    parts = start.plus(a[:, :cut_at], b[:cut_at], lanes).plus(a[:, cut_at:], b[cut_at:], lanes)
    assert parts.rounded().tobytes() == start.plus(a, b, lanes).rounded().tobytes()


def test_what_is_exact_in_the_window_is_exact() -> None:
    a = numbers.as_element([[1, 1, -1, 2.0**-12]], "bf16")
    b = numbers.as_element([[1], [2.0**-25], [1], [2.0**-12]], "bf16")
    start = Sums.of(np.zeros((1, 1), np.float32))
    assert start.plus(a, b, 2).rounded()[0, 0] == 2.0**-24 + 2.0**-25


@pytest.mark.parametrize("lanes", LANES)
def test_infinities_and_nan(lanes: int) -> None:
    """As in exact arithmetic: products do not overflow, only a result does."""
    a = numbers.as_element([[x, y] for x in SPECIAL for y in SPECIAL], "bf16")
    b = numbers.as_element([[x for x in SPECIAL], [1.5] * len(SPECIAL)], "bf16")
    got = Sums.of(np.zeros((len(a), len(SPECIAL)), np.float32)).plus(a, b, lanes).rounded()
    w = numbers.canonical(b).astype(float)
    with np.errstate(invalid="ignore"):
        exact = (numbers.canonical(a).astype(float)[:, :, None] * w).sum(axis=1)
    special = ~np.isfinite(exact)
    assert np.array_equal(got[special], exact[special].astype(np.float32), equal_nan=True)
    whole = numbers.round_to(exact, "f32")
    assert np.allclose(got[~special], whole[~special], rtol=2.0**-12, atol=2.0**-125)


@pytest.mark.parametrize("number", SPECIAL)
def test_a_sum_of_nothing_is_its_start(number: float) -> None:
    start = numbers.as_element([[number]], "f32")
    nothing = np.zeros((1, 0)), np.zeros((0, 1))
    a, b = (numbers.as_element(x, "bf16") for x in nothing)
    got = Sums.of(start).plus(a, b, 4).rounded()
    assert np.array_equal(got, start, equal_nan=True)
    assert not np.signbit(got[got == 0]).any()


def test_accum_goes_on_with_the_same_sums() -> None:
    """Three tiles of K in Accum give the bits of one long K in Map."""
    rng = np.random.default_rng(5)
    x, w = drawn(rng, (4, 24), 30), drawn(rng, (24, 8), 30)

    def product(tiles: int) -> bytes:
        g = sg.Graph()
        k = 24 // tiles
        a = g.input("a", sg.Tile(4, k, sg.bf16), (1, tiles))
        b = g.input("b", sg.Tile(k, 8, sg.bf16), (1, tiles))
        fn = sg.fn.matmul()
        g.output(sg.map(fn, a, b) if tiles == 1 else sg.accum(fn, a, b, rank=1), "y")
        given = {"a": [np.split(x, tiles, axis=1)], "b": [np.split(w, tiles)]}
        y = execute(g, given, lanes=8).nested("y")
        return bytes(np.ravel(y).astype(np.float32))

    assert product(3) == product(1)
