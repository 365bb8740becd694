from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from semantics.drawn import floats
from stepgen.ir.errors import StepError
from stepgen.semantics import numbers

FORMATS = ["bf16", "f32"]


def rounded(exact: Fraction, name: str) -> float:
    """Round by the definition, in rational arithmetic: an independent model."""
    if exact == 0:
        return 0.0
    magnitude, digits = abs(exact), numbers.MANTISSA[name]
    exponent = 0
    while magnitude >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while magnitude < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (exponent - digits)
    magnitude = round(magnitude / unit) * unit
    if magnitude < Fraction(2) ** -126:
        return 0.0
    if magnitude >= Fraction(2) ** 128:
        return np.inf if exact > 0 else -np.inf
    return float(magnitude if exact > 0 else -magnitude)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("operation", ["add", "multiply"])
def test_sum_and_product_by_the_definition(name: str, operation: str) -> None:
    rng = np.random.default_rng(5)
    a, b = floats(rng, (1500,), name), floats(rng, (1500,), name)
    # Half of the pairs are made to meet: near cancellation, and products at the edge of flushing.
    with np.errstate(all="ignore"):
        partner = (
            -a if operation == "add" else numbers.as_element(2.0**-126 / a.astype(float), name)
        )
        b[::2] = numbers.as_element(partner.astype(float) * (1 + rng.integers(-2, 3) / 256), name)[
            ::2
        ]
    got = getattr(numbers, operation)(a, b, name)
    a, b = numbers.canonical(a).astype(float), numbers.canonical(b).astype(float)
    for x, y, z in zip(a, b, got.astype(float), strict=True):
        if np.isfinite(x) and np.isfinite(y):
            exact = Fraction(x) + Fraction(y) if operation == "add" else Fraction(x) * Fraction(y)
            assert rounded(exact, name) == z, (x, y)
        else:
            with np.errstate(all="ignore"):
                expected = x + y if operation == "add" else x * y
            assert np.array_equal(expected, z, equal_nan=True)


def test_a_product_just_below_the_smallest_number_is_flushed() -> None:
    """Rounding comes before flushing, at the format's own width (IEEE would round up here)."""
    below = np.float32(1 - 2.0**-24)
    tiny = np.array([2.0**-126], np.float32)
    assert numbers.multiply(np.array([below]), tiny, "f32")[0] == 0
    assert (
        numbers.matmul(np.array([[below]]), tiny[None], 4, np.zeros((1, 1), np.float32))[0, 0] == 0
    )


@pytest.mark.parametrize("name", FORMATS)
def test_results_are_canonical(name: str) -> None:
    x = floats(np.random.default_rng(1), (4000,), name)
    for result in (numbers.canonical(x), numbers.add(x, x[::-1], name)):
        wide = result.astype(np.float32)
        assert not ((wide != 0) & (np.abs(wide) < 2.0**-126)).any()
        nans = result[np.isnan(wide)]
        assert (
            len(
                set(
                    nans.tobytes()[i : i + nans.itemsize]
                    for i in range(0, nans.nbytes, nans.itemsize)
                )
            )
            == 1
        )


def test_signed_zeros() -> None:
    minus = np.array([-1e-39], np.float32)
    assert np.signbit(numbers.canonical(minus))[0]
    zeros = np.array([0.0, -0.0], np.float32)
    assert not np.signbit(numbers.maximum(zeros, zeros[::-1])).any()
    assert np.signbit(numbers.minimum(zeros, zeros[::-1])).all()


def test_maximum_of_nan_is_nan() -> None:
    x = np.array([np.nan, 1], np.float32)
    for pick in (numbers.maximum, numbers.minimum):
        assert np.isnan(pick(x, x[::-1])).all()


def test_order_of_floats() -> None:
    x = floats(np.random.default_rng(3), (500,), "f32")
    x = x[np.isfinite(x)]
    keys = numbers.ordered(x)
    x = numbers.canonical(x)
    assert ((x[:, None] < x) <= (keys[:, None] < keys)).all()


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("element", FORMATS)
def test_matmul_adds_in_the_stated_order(element: str, lanes: int) -> None:
    rng = np.random.default_rng(lanes)
    m, k, n = 3, 19, 2
    a, b = (numbers.as_element(rng.standard_normal(s) * 1e3, element) for s in ((m, k), (k, n)))
    start = rng.standard_normal((m, n)).astype(np.float32)
    got = numbers.matmul(a, b, lanes, start)

    def tree(x: list[np.float32]) -> np.float32:
        if len(x) == 1:
            return x[0]
        half = 1 << (len(x) - 1).bit_length() - 1
        return tree(x[:half]) + tree(x[half:])

    for i in range(m):
        for j in range(n):
            total = start[i, j]
            for s in range(0, k, lanes):
                row = [
                    np.float32(a[i, t]) * np.float32(b[t, j]) for t in range(s, min(s + lanes, k))
                ]
                total += tree(row)
            assert total.tobytes() == got[i, j].tobytes()


def test_order_matters_in_the_test_above() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(s).astype(np.float32) for s in ((8, 64), (64, 8)))
    start = np.zeros((8, 8), np.float32)
    assert not np.array_equal(numbers.matmul(a, b, 4, start), numbers.matmul(a, b, 16, start))


def test_int8_multiplies_into_wrapping_int32() -> None:
    a = np.full((1, 1 << 12), -128, np.int8)
    start = np.array([[2**31 - 1]], np.int32)
    exact = 2**31 - 1 + (1 << 12) * 128 * 128
    assert numbers.matmul(a, a.T.copy(), 8, start)[0, 0] == (exact + 2**31) % 2**32 - 2**31


def test_bf16_rounds_a_double_once() -> None:
    """Just above a tie, by less than a float can hold: rounding by way of float32 would go down."""
    x = np.array([1 + 2.0**-8 + 2.0**-40])
    assert numbers.round_to(x, "bf16")[0] == 1 + 2.0**-7


@pytest.mark.parametrize(
    ("data", "element", "message"),
    [
        ([[128]], "int8", "x holds 128, which does not fit into int8"),
        ([[0.5]], "int8", "x holds fractions"),
        ([[2]], "bool", "something else than booleans"),
        ([[1, 2], [3]], "int8", "x is not a regular array"),
        ([["a"]], "f32", "x is not a regular array"),
    ],
)
def test_numbers_that_do_not_fit(data: list[object], element: str, message: str) -> None:
    with pytest.raises(StepError, match=message):
        numbers.as_element(data, element, "x")
