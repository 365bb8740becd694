"""Numbers as users give them: every element type from every numpy type, in every shape."""

from __future__ import annotations

import datetime
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stepgen as sg
from semantics.test_numbers import rounded
from stepgen.ir.dtypes import ELEMENTS
from stepgen.ir.errors import StepError
from stepgen.semantics import numbers
from stepgen.semantics.inputs import to_tokens

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
FLOATS = ["float16", "float32", "float64", "longdouble", ml_dtypes.bfloat16]
GIVEN = [np.dtype(d) for d in ("bool", *INTEGERS, *FLOATS, ">f4", ">i4")]
SHAPES = [(), (1,), (1, 1), (2, 3), (0, 4), (2, 1, 2)]


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray:
    """An array of any numeric type and shape, with the edges of all integer types among them."""
    dtype, shape = draw(st.sampled_from(GIVEN)), draw(st.sampled_from(SHAPES))
    edges = [s * 2**n + d for n in (0, 7, 8, 24, 31, 53, 63, 64) for s in (1, -1) for d in (-1, 1)]
    count = int(np.prod(shape))
    if dtype.kind == "b":
        one = st.booleans()
    elif dtype.kind in "iu":
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        some = [e for e in edges if low <= e <= high]
        one = st.one_of(st.integers(-3, 3).map(abs), st.sampled_from(some), st.integers(low, high))
    else:
        one = st.one_of(
            st.integers(-200, 200).map(float),
            st.sampled_from(edges).map(float),
            st.floats(width=32),
        )
    with np.errstate(all="ignore"):
        made = np.array(draw(st.lists(one, min_size=count, max_size=count)), object)
        made = made.astype(np.float64 if dtype.kind in "fV" else object).astype(dtype)
    made = made.reshape(shape)
    return np.asfortranarray(made) if draw(st.booleans()) else made


def expected(x: object, name: str) -> object:
    """The element that a number becomes, in rational arithmetic; None where there is none."""
    number = float(x) if not isinstance(x, int | np.integer | np.bool_) else int(x)
    if not np.isfinite(float(number)):
        return number if numbers.is_float(name) else None
    exact = Fraction(number)
    if numbers.is_float(name):
        return rounded(exact, name)
    low, high = (0, 1) if name == "bool" else _range(name)
    return exact if exact.denominator == 1 and low <= exact <= high else None


def _range(name: str) -> tuple[int, int]:
    info = np.iinfo(numbers.DTYPES[name])
    return int(info.min), int(info.max)


@settings(max_examples=200)
@given(data=arrays(), name=st.sampled_from(sorted(ELEMENTS)))
def test_every_number_is_exact_or_refused(data: np.ndarray, name: str) -> None:
    wanted = [expected(x, name) for x in data.flat]
    try:
        got = numbers.as_element(data, name)
    except StepError:
        assert None in wanted
        return
    assert got.shape == data.shape
    assert got.dtype == numbers.DTYPES[name]
    for x, y in zip(got.flat, wanted, strict=True):
        seen = float(x) if numbers.is_float(name) else int(x)
        assert y is not None
        assert seen == y or (seen != seen and y != y)


STRANGE = [
    np.ones(2, complex),
    np.array(["1", "2"]),
    np.array([b"1"]),
    np.array([1, None]),
    [[1], [1, 2]],
    None,
    "1",
    {},
    object(),
    np.array(["2020-01-01"], "datetime64[D]"),
    datetime.timedelta(1),
    np.ma.masked_array([1, 2], [0, 1]),
    np.array([(1, 2)], "i4,i4"),
    [2**70],
    np.array([1], ml_dtypes.float8_e4m3fn),
]


@pytest.mark.parametrize("name", sorted(ELEMENTS))
@pytest.mark.parametrize("data", STRANGE, ids=range(len(STRANGE)))
def test_what_is_no_number_is_refused(data: object, name: str) -> None:
    with pytest.raises(StepError, match="value"):
        numbers.as_element(data, name)


@pytest.mark.parametrize("element", ELEMENTS.values(), ids=str)
@pytest.mark.parametrize("given", [*GIVEN, int, float, bool], ids=str)
def test_a_tile_of_one_element_may_be_a_number(element: sg.ElementType, given: object) -> None:
    """Nested lists of numbers, a flat array, and tiles of 1 x 1 are one stream."""
    kind = sg.Graph().input("x", element[1, 1], (3,)).type
    made = [np.array(v, given)[()] if isinstance(given, np.dtype) else given(v) for v in (1, 0, 1)]
    whole = np.array(made) if isinstance(given, np.dtype) else made
    ways = [made, whole, [np.array([[m]]) for m in made], [[[m]] for m in made], list(whole)]
    tokens = [to_tokens(way, kind) for way in ways]
    assert all(t == tokens[0] for t in tokens)
    assert [float(t.value[0, 0]) for t in tokens[0][:-1]] == [1, 0, 1]


@given(st.lists(st.one_of(st.integers(0, 9), st.integers(2**52, 2**64 - 1)), min_size=1))
def test_integers_in_a_list_keep_all_their_bits(given_numbers: list[int]) -> None:
    """Also beside small ones, where numpy would make doubles."""
    each = [np.uint64(n) if n >= 2**63 else np.int64(n) for n in given_numbers[:-1]]
    for way in (given_numbers, np.array(given_numbers, object), [*each, given_numbers[-1]]):
        assert numbers.as_element(way, "address", "x").tolist() == given_numbers


def test_integers_that_no_type_has_both() -> None:
    with pytest.raises(StepError, match=r"x holds -1 and 18446744073709551615, which no integer"):
        numbers.as_element([[-1, 2**64 - 1]], "int32", "x")
    with pytest.raises(StepError, match="x holds an integer of 65 bits, at most 64 can be"):
        numbers.as_element([[0, 2**64]], "address", "x")
