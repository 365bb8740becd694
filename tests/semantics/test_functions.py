"""Every function against plain numpy, on tiles of every element type that it takes."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest

import stepgen as sg
from semantics.drawn import floats, plain, tile
from semantics.programs import execute
from stepgen.functions.bases import Binary
from stepgen.ir.dtypes import ELEMENTS
from stepgen.ir.errors import StepError
from stepgen.ir.function import function_types
from stepgen.semantics import numbers, tables

EXACT: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
}


def apply(fn: Any, *tiles: Any, lanes: int = 4) -> Any:
    """Map a function over one element."""
    g = sg.Graph()
    names = [f"x{i}" for i in range(len(tiles))]
    streams = [
        g.input(name, sg.Tile(*x.shape, ELEMENTS[numbers.name_of(x)]), (1,))
        for name, x in zip(names, tiles, strict=True)
    ]
    g.output(sg.map(fn, *streams), "y")
    result = execute(g, {n: [x] for n, x in zip(names, tiles, strict=True)}, lanes=lanes)
    (y,) = result.nested("y")
    out = result.types["y"].dtype
    assert isinstance(out, sg.Tile)
    assert numbers.name_of(y) == out.element.name
    return y


@pytest.mark.parametrize("element", ["int8", "int16", "int32", "bf16", "f32"])
@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("sizes", [((3, 4), (3, 4)), ((3, 4), (1, 4)), ((3, 1), (3, 4))])
def test_pairs(name: str, element: str, sizes: Any) -> None:
    rng = np.random.default_rng(3)
    a, b = (tile(rng, *size, element) for size in sizes)
    y = apply(getattr(sg.fn, name)(), a, b)
    assert plain(y.astype(float)) == plain(EXACT[name](a.astype(float), b.astype(float)))


@pytest.mark.parametrize("element", ["int8", "int16", "int32"])
@pytest.mark.parametrize("name", ["add", "sub"])
def test_integers_wrap_around(name: str, element: str) -> None:
    low, high = numbers.lowest(element), numbers.highest(element)
    x = np.array([[low, high]], numbers.DTYPES[element])
    y = apply(getattr(sg.fn, name)(), x, x[:, ::-1].copy() if name == "sub" else x)
    bits = 2 ** (8 * numbers.DTYPES[element].itemsize)
    exact = [low - high, high - low] if name == "sub" else [2 * low, 2 * high]
    assert [int(v) % bits for v in y[0]] == [v % bits for v in exact]


@pytest.mark.parametrize("element", ["bf16", "f32"])
@pytest.mark.parametrize("name", tables.FUNCTIONS)
def test_tabulated_functions(name: str, element: str) -> None:
    x = numbers.canonical(floats(np.random.default_rng(4), (8, 8), element))
    assert apply(getattr(sg.fn, name)(), x).tobytes() == tables.apply(name, x).tobytes()


@pytest.mark.parametrize("element", ["bf16", "f32"])
def test_quotients(element: str) -> None:
    rng = np.random.default_rng(5)
    x, y = (numbers.canonical(floats(rng, (8, 8), element)) for _ in range(2))
    assert apply(sg.fn.div(), x, y).tobytes() == tables.div(x, y).tobytes()


@pytest.mark.parametrize("element", ["int8", "int16", "int32", "bf16", "f32"])
def test_constants_and_squares(element: str) -> None:
    x = tile(np.random.default_rng(6), 4, 4, element)
    wide = x.astype(float)
    assert plain(apply(sg.fn.scale(3), x).astype(float)) == plain(wide * 3)
    assert plain(apply(sg.fn.offset(-2), x).astype(float)) == plain(wide - 2)
    assert plain(apply(sg.fn.square(), x).astype(float)) == plain(wide**2)


def test_a_constant_is_rounded_before_it_multiplies() -> None:
    x = numbers.as_element([[3.0]], "bf16")
    third = numbers.as_element([[1 / 3]], "bf16")
    assert apply(sg.fn.scale(1 / 3), x)[0, 0] == numbers.multiply(x, third, "bf16")[0, 0]


@pytest.mark.parametrize("element", ["int8", "int16", "int32", "bf16", "f32"])
def test_rows(element: str) -> None:
    x = tile(np.random.default_rng(7), 5, 6, element)
    total = apply(sg.fn.row_sum(), x)
    assert plain(total.astype(float)) == plain(x.astype(float).sum(1, keepdims=True))
    assert plain(apply(sg.fn.row_max(), x)) == plain(x.max(1, keepdims=True))
    wide = apply(sg.fn.row_broadcast(cols=3), x[:, :1].copy())
    assert plain(wide) == plain(np.repeat(x[:, :1], 3, 1))


@pytest.mark.parametrize("element", ["int8", "int16", "int32", "bf16", "f32"])
def test_columns(element: str) -> None:
    x = tile(np.random.default_rng(12), 5, 6, element)
    assert plain(apply(sg.fn.at_least(2), x).astype(float)) == plain(np.maximum(x, 2).astype(float))
    assert plain(apply(sg.fn.at_most(2), x).astype(float)) == plain(np.minimum(x, 2).astype(float))
    shifted = np.concatenate([np.full((5, 2), 7, x.dtype), x[:, :4]], axis=1)
    assert plain(apply(sg.fn.shift_cols(2, fill=7), x)) == plain(shifted)
    assert (apply(sg.fn.shift_cols(9), x) == 0).all()
    small = (x.astype(float) % 8).astype(x.dtype)
    expected = small.astype(float)
    for j in range(1, 6):
        expected[:, j] = np.maximum(expected[:, j], expected[:, j - 1] - 2)
    assert plain(apply(sg.fn.running_max(2), small).astype(float)) == plain(expected)


@pytest.mark.parametrize("element", ["int8", "int16", "int32", "bf16", "f32"])
def test_pairs_are_turned(element: str) -> None:
    """As complex numbers times i; four times is once around."""
    x = tile(np.random.default_rng(13), 5, 6, element)
    turned = apply(sg.fn.rotate_pairs(), x)
    numbers = x.astype(float)[:, 0::2] + 1j * x.astype(float)[:, 1::2]
    assert plain(turned[:, 0::2].astype(float)) == plain((numbers * 1j).real)
    assert plain(turned[:, 1::2].astype(float)) == plain((numbers * 1j).imag)
    for _ in range(3):
        turned = apply(sg.fn.rotate_pairs(), turned)
    assert plain(turned) == plain(x)


def test_negated_numbers() -> None:
    for element, given, wanted in (
        ("int8", [-128, 127, 0], [-128, -127, 0]),
        ("int16", [-(1 << 15), 5, -1], [-(1 << 15), -5, 1]),
        ("int32", [-(1 << 31), 5, -1], [-(1 << 31), -5, 1]),
    ):
        made = numbers.negate(numbers.as_element([given], element))
        assert made.tolist() == [wanted]
    x = numbers.as_element([[0.0, -0.0, np.inf, np.nan, -np.nan, 1.5]], "f32")
    made = numbers.negate(x)
    assert np.signbit(made).tolist() == [[True, False, True, False, False, True]]
    np.testing.assert_array_equal(made, -x)


def test_row_sum_adds_in_a_tree_whatever_the_lanes() -> None:
    x = np.random.default_rng(8).standard_normal((50, 7)).astype(np.float32)
    a, b, c, d, e, f, g = x.T
    tree = ((a + b) + (c + d)) + ((e + f) + g)
    assert (tree != a + b + c + d + e + f + g).any()
    for lanes in (2, 4):
        assert apply(sg.fn.row_sum(), x, lanes=lanes)[:, 0].tolist() == tree.tolist()


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("element", ["int8", "int16", "bf16", "f32"])
def test_products(element: str, transpose: bool) -> None:
    rng = np.random.default_rng(9)
    for rows in (0, 1, 5):
        x, w = tile(rng, rows, 8, element), tile(rng, 8, 3, element)
        given = np.ascontiguousarray(w.T) if transpose else w
        y = apply(sg.fn.matmul(transpose=transpose), x, given)
        assert y.dtype == (np.int32 if element.startswith("int") else np.float32)
        assert plain(y.astype(float)) == plain(x.astype(float) @ w.astype(float))


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("element", ["int8", "int16", "bf16", "f32"])
def test_sums_that_start_at_a_row(element: str, transpose: bool) -> None:
    """Of integers the sum of the product and the row; floats near it, a row alone exactly."""
    rng = np.random.default_rng(19)
    wide = "int32" if element.startswith("int") else "f32"
    fn = sg.fn.matmul_add(transpose=transpose)
    for rows in (0, 1, 5):
        x, w, start = tile(rng, rows, 8, element), tile(rng, 8, 3, element), tile(rng, 1, 3, wide)
        given = np.ascontiguousarray(w.T) if transpose else w
        y = apply(fn, x, given, start)
        assert y.dtype == start.dtype
        assert plain(y.astype(float)) == plain(x.astype(float) @ w.astype(float) + start)
        nothing = apply(fn, np.zeros_like(x), given, start)
        assert plain(nothing) == plain(np.repeat(start, rows, axis=0))


def test_a_row_is_a_term_of_a_sum_of_bf16_that_is_rounded_once() -> None:
    x, w = (numbers.as_element([row], "bf16") for row in ([1, 2.0**-13], [1, 2.0**-13]))
    start = np.array([[-1]], np.float32)
    assert apply(sg.fn.matmul_add(), x, w.T, start)[0, 0] == 2.0**-26
    assert apply(sg.fn.add(), apply(sg.fn.matmul(), x, w.T), start)[0, 0] == 0


@pytest.mark.parametrize("op", ["lt", "le", "eq", "ne", "ge", "gt"])
@pytest.mark.parametrize("element", ["int8", "f32"])
def test_comparisons(element: str, op: str) -> None:
    rng = np.random.default_rng(10)
    a = floats(rng, (9, 9), "f32") if element == "f32" else tile(rng, 9, 9)
    b = a.copy()
    b[::2] = b[::-2]
    y = apply(sg.fn.compare(op), a, b)
    a, b = numbers.canonical(a).tolist(), numbers.canonical(b).tolist()
    python = {"lt": "<", "le": "<=", "eq": "==", "ne": "!=", "ge": ">=", "gt": ">"}[op]
    pairs = [(p, q) for row in zip(a, b, strict=True) for p, q in zip(*row, strict=True)]
    assert y.ravel().tolist() == [eval(f"p {python} q", {"p": p, "q": q}) for p, q in pairs]


@pytest.mark.parametrize(
    ("x", "element", "to", "expected"),
    [
        ([200, -200, 5], "int32", "int8", [127, -128, 5]),
        ([-3, 7], "int8", "int32", [-3, 7]),
        ([-3, 300], "int16", "int8", [-3, 127]),
        ([40000, -40000, 5], "int32", "int16", [32767, -32768, 5]),
        ([1e5, -2.5, np.nan, -np.inf], "f32", "int16", [32767, -2, 0, -32768]),
        ([257, 259, -32768], "int16", "bf16", [256, 260, -32768]),
        ([0.5, 1.5, -2.5, 300, np.nan, -np.inf], "f32", "int8", [0, 2, -2, 127, 0, -128]),
        ([3e9, -3e9, 1e30], "f32", "int32", [2**31 - 1, -(2**31), 2**31 - 1]),
        ([2**24 + 1, 2**24 + 3, 5], "int32", "f32", [2**24, 2**24 + 4, 5]),
        ([1 + 2**-8, 1 + 3 * 2**-8], "f32", "bf16", [1, 1 + 2**-6]),
        ([1.5, np.inf], "bf16", "f32", [1.5, np.inf]),
        ([True, False], "bool", "int8", [1, 0]),
    ],
)
def test_conversions(x: Any, element: str, to: str, expected: Any) -> None:
    given = np.array([x], numbers.DTYPES[element])
    assert apply(sg.fn.convert(ELEMENTS[to]), given).astype(float).tolist() == [expected]


@pytest.mark.parametrize(
    ("x", "element", "to", "places", "expected"),
    [
        ([0.25, 0.375, -0.125, 40, np.nan, -np.inf], "f32", "int8", 2, [1, 2, 0, 127, 0, -128]),
        ([6, 2, -1e30, 2.0**-126], "bf16", "int16", -2, [2, 0, -32768, 0]),
        ([2.0**-126, -(2.0**-64)], "f32", "int32", 64, [0, -1]),
        ([5, -(2**31)], "int32", "f32", 3, [0.625, -(2.0**28)]),
        ([-128, 0, 1], "int8", "bf16", -64, [-(2.0**71), 0, 2.0**64]),
    ],
)
def test_conversions_with_places(x: Any, element: str, to: str, places: int, expected: Any) -> None:
    given = np.array([x], numbers.DTYPES[element])
    found = apply(sg.fn.convert(ELEMENTS[to], places=places), given)
    assert found.astype(float).tolist() == [expected]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda x: sg.fn.convert(sg.int8, places=65), r"places must be within -64\.\.64, not 65"),
        (
            lambda x: x.map(sg.fn.convert(sg.bf16, places=1)),
            "needs a float and an integer, not f32 and bf16",
        ),
    ],
)
def test_places_that_are_refused(make: Any, sentence: str) -> None:
    with pytest.raises(StepError, match=sentence):
        make(sg.Graph("g").input("x", sg.f32[1, 4], ("N",)))


@pytest.mark.parametrize("to", ["int8", "int16"])
@pytest.mark.parametrize(("multiplier", "shift"), [(1, 0), (1, 7), (3, 4), (32767, 31)])
def test_requantize(multiplier: int, shift: int, to: Literal["int8", "int16"]) -> None:
    rng = np.random.default_rng(11)
    x = rng.integers(-(2**31), 2**31, (8, 8)).astype(np.int32) >> rng.integers(0, 31, (8, 8))
    x[0, :4] = [-(2**31), 2**31 - 1, 64, 192]
    x = x.astype(np.int32)
    y = apply(sg.fn.requantize(multiplier=multiplier, shift=shift, to=to), x)
    low, high = numbers.lowest(to), numbers.highest(to)
    exact = [max(low, min(high, round(Fraction(int(v) * multiplier, 2**shift)))) for v in x.flat]
    assert y.dtype == to
    assert y.ravel().tolist() == exact


@pytest.mark.parametrize("to", ["int8", "int16"])
def test_requantize_by_rows(to: Literal["int8", "int16"]) -> None:
    rng = np.random.default_rng(12)
    x = (rng.integers(-(2**31), 2**31, (8, 6)) >> rng.integers(0, 31, (8, 6))).astype(np.int32)
    x[:4, 0] = [-(2**31), 2**31 - 1, 64, 192]
    by = np.array([[0, 1, 77, 19661, 32767, 32766]], np.int32)
    shift = np.array([[0, 1, 7, 22, 31, 15]], np.int8)
    y = apply(sg.fn.requantize_by(to=to), x, by, shift)
    for n, (multiplier, places) in enumerate(zip(by[0, 1:], shift[0, 1:], strict=True), 1):
        one = sg.fn.requantize(multiplier=int(multiplier), shift=int(places), to=to)
        assert y[:, n : n + 1].tolist() == apply(one, x[:, n : n + 1]).tolist()
    assert not y[:, 0].any()


@pytest.mark.parametrize(
    ("by", "shift", "says"),
    [
        (-1, 0, "requantize_by(to=int8): a multiplier must be within 0..32767, not -1"),
        (32768, 31, "requantize_by(to=int8): a multiplier must be within 0..32767, not 32768"),
        (5, 32, "requantize_by(to=int8): a shift must be within 0..31, not 32"),
        (5, -3, "requantize_by(to=int8): a shift must be within 0..31, not -3"),
    ],
)
def test_scales_that_circuits_do_not_have_are_refused(by: int, shift: int, says: str) -> None:
    x = np.ones((2, 2), np.int32)
    with pytest.raises(sg.StepError, match=re.escape(says)):
        apply(sg.fn.requantize_by(), x, np.array([[1, by]], np.int32), np.int8([[shift]]))


@pytest.mark.parametrize(
    ("row", "element", "k", "chosen"),
    [
        ([3, 1, 2, 3, 3], "int8", 2, [0, 3]),
        ([3, 1, 2, 3, 3], "int8", 4, [0, 2, 3, 4]),
        ([-5, -(2**31), 2**31 - 1], "int32", 2, [0, 2]),
        ([-0.0, 0.0, -0.0], "f32", 2, [0, 1]),
        ([np.nan, -np.inf, np.nan, np.inf], "bf16", 3, [0, 1, 3]),
        ([2.0**-130, 0.0, -(2.0**-130), -1], "f32", 3, [0, 1, 2]),
        ([7], "f32", 1, [0]),
    ],
)
def test_the_largest_of_a_row(row: Any, element: str, k: int, chosen: list[int]) -> None:
    x = np.array([row], numbers.DTYPES[element])
    g = sg.Graph()
    tile_type = sg.Tile(1, len(row), ELEMENTS[element])
    g.output(g.input("x", tile_type, (1,)).map(sg.fn.top_k(k)), "y")
    (selector,) = execute(g, {"x": [x]}).nested("y")
    assert np.flatnonzero(selector).tolist() == chosen
    scores = apply(sg.fn.top_k_scores(k), x)
    expected = numbers.canonical(x)[:, chosen].astype(float)
    np.testing.assert_array_equal(scores.astype(float), expected)
    assert np.signbit(scores.astype(float)).tolist() == np.signbit(expected).tolist()


@pytest.mark.parametrize("element", ["int8", "int32", "bf16", "f32", "bool"])
def test_what_is_not_chosen_leaves_no_trace(element: str) -> None:
    flags = np.array([[True], [False]])
    a = np.array([[1, 0, 1]] * 2, numbers.DTYPES[element])
    b = a.copy()
    if element in ("bf16", "f32"):
        b[0], a[1] = np.nan, np.inf
    chosen = apply(sg.fn.where(), flags, a, b)
    np.testing.assert_array_equal(chosen, np.where(flags, a, b))
    assert apply(sg.fn.logical_not(), chosen if element == "bool" else flags).dtype == np.bool_


def test_a_number_in_place_of_a_tile_is_rounded_to_the_type() -> None:
    flags, x = np.array([[True, False]]), np.array([[2, np.nan]], numbers.DTYPES["bf16"])
    assert apply(sg.fn.where(otherwise=0.1), flags, x).astype(float).tolist() == [
        [2, 0.10009765625]
    ]
    assert apply(sg.fn.where(0, -1, "int16"), flags).tolist() == [[0, -1]]
    low = apply(sg.fn.where(0, -np.inf, "f32"), flags)
    assert low.tolist() == [[0, -np.inf]]


@pytest.mark.parametrize("seed", range(8))
def test_flags_become_selectors_and_selectors_flags(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, otherwise = int(rng.integers(1, 6)), bool(seed % 2)
    flags = rng.random((7, 1, count)) < 0.3
    g = sg.Graph()
    chosen = g.input("x", sg.bool_[1, count], (7,)).map(sg.fn.as_selector(otherwise))
    g.output(chosen, "chosen")
    g.output(chosen.map(sg.fn.as_flags()), "again")
    result = execute(g, {"x": flags})
    for row, selector, again in zip(
        flags, result.nested("chosen"), result.nested("again"), strict=True
    ):
        more = [not any(row[0].tolist())] if otherwise else []
        assert selector.tolist() == [*row[0].tolist(), *more]
        assert again.tolist() == [selector.tolist()]
    assert chosen.dtype.hot == (1 if otherwise and count == 1 else None)


ROW_WISE: list[tuple[Any, str, list[tuple[int, int]]]] = [
    *((getattr(sg.fn, name)(), "f32", [(5, 4), (5, 4)]) for name in (*EXACT, "div")),
    *(
        (getattr(sg.fn, name)(), "f32", [(5, 4)])
        for name in ("exp", "gelu", "gelu_tanh", "silu", "sqrt")
    ),
    *((getattr(sg.fn, name)(), "f32", [(5, 4)]) for name in ("reciprocal", "rsqrt", "tanh")),
    *(
        (getattr(sg.fn, name)(3), "f32", [(5, 4)])
        for name in ("at_least", "at_most", "offset", "scale")
    ),
    *((getattr(sg.fn, name)(), "int8", [(5, 4)]) for name in ("row_max", "row_sum", "square")),
    (sg.fn.compare("lt"), "int8", [(5, 4), (1, 4)]),
    (sg.fn.convert(sg.bf16), "f32", [(5, 4)]),
    (sg.fn.lookup(range(256), to="int32"), "int8", [(5, 4)]),
    (sg.fn.matmul(), "int8", [(5, 4), (4, 5)]),
    (sg.fn.matmul(transpose=True), "int8", [(5, 4), (5, 4)]),
    (sg.fn.matmul_add(), "int8 int8 int32", [(5, 4), (4, 5), (1, 5)]),
    (sg.fn.requantize(3, shift=1), "int32", [(5, 4)]),
    (sg.fn.requantize_by(), "int32 int32 int8", [(5, 4), (5, 1), (1, 4)]),
    (sg.fn.row_broadcast(3), "int8", [(5, 1)]),
    (sg.fn.rotate_pairs(), "int8", [(5, 4)]),
    (sg.fn.running_max(1), "int8", [(5, 4)]),
    (sg.fn.shift_cols(1), "int8", [(5, 4)]),
    (sg.fn.argmax("int32"), "int8", [(5, 4)]),
    (sg.fn.argmin("int32"), "f32", [(5, 4)]),
    (sg.fn.logical_and(), "bool", [(5, 4), (1, 4)]),
    (sg.fn.logical_or(), "bool", [(5, 1), (5, 4)]),
    (sg.fn.logical_xor(), "bool", [(5, 4), (5, 4)]),
    (sg.fn.logical_not(), "bool", [(5, 4)]),
    (sg.fn.where(), "bool f32 f32", [(5, 1), (5, 4), (1, 4)]),
]
"""Functions that treat the rows of some operand alike, and tiles for them."""


@pytest.mark.parametrize(("fn", "element", "sizes"), ROW_WISE, ids=str)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_rows_that_are_kept_are_found_in_their_row(fn: Any, element: str, sizes: Any) -> None:
    rng = np.random.default_rng(7)
    elements = element.split() if " " in element else [element] * len(sizes)
    tiles = [
        rng.random(size) < 0.5 if of == "bool" else tile(rng, *size, of)
        for size, of in zip(sizes, elements, strict=True)
    ]
    tiles[1:] = [abs(x) for x in tiles[1:]]
    order = rng.permutation(5)
    kept = [k for k, size in enumerate(sizes) if fn.keeps_rows(k) and size[0] == 5]
    assert kept
    turned = [x[order] if k in kept else x for k, x in enumerate(tiles)]
    found, wanted = apply(fn, *turned), apply(fn, *tiles)[order]
    np.testing.assert_array_equal(found.astype(float), wanted.astype(float))


def test_every_function_that_keeps_rows_is_here() -> None:
    folding = {"retile_col", "mask_cols"}
    keeping = {
        name for name, kind in function_types().items() if object.__new__(kind).keeps_rows(0)
    }
    assert keeping - folding == {fn.name for fn, _, _ in ROW_WISE}


def of_two() -> list[Any]:
    """Functions of two tiles."""
    names = [name for name, kind in function_types().items() if issubclass(kind, Binary)]
    return [sg.fn.compare("lt") if name == "compare" else getattr(sg.fn, name)() for name in names]


@pytest.mark.parametrize("fn", of_two(), ids=str)
def test_an_extent_of_one_is_not_broadcast_where_the_types_have_one_dim(fn: Any) -> None:
    """Rows, and columns, that are equal by the types and differ at run time, in any way."""
    rng = np.random.default_rng(len(str(fn)))
    dim = sg.dynamic("N", bound=9)
    for axis in (0, 1):
        sizes = [3, 3]
        sizes[axis] = dim
        g = sg.Graph()
        x, y = (g.input(name, sg.Tile(*sizes, sg.f32), (2,)) for name in "xy")
        g.output(sg.map(fn, x, y), "z")
        few, many = sorted(rng.choice(9, 2, replace=False))
        for one in ((few, many), (1, many or 2)):
            shapes = [[3, 3], [3, 3]]
            for shape, extent in zip(shapes, rng.permutation(one), strict=True):
                shape[axis] = int(extent)
            given = [[np.ones(shape, np.float32)] * 2 for shape in shapes]
            with pytest.raises(sg.StepError, match="do not match at run time: tiles of"):
                execute(g, dict(zip("xy", given, strict=True)))


@pytest.mark.parametrize("kind", [sg.dynamic, sg.ragged])
def test_tiles_of_inputs_keep_to_their_bounds(kind: Any) -> None:
    g = sg.Graph()
    x = g.input("x", sg.Tile(kind("R", bound=2), 3, sg.int8), (1,))
    g.output(x.map(sg.fn.square()), "y")
    execute(g, {"x": [np.ones((2, 3), np.int8)]})
    with pytest.raises(sg.StepError, match="x is made of tiles int8 Rx3, not of 3x3: R can be 2"):
        execute(g, {"x": [np.ones((3, 3), np.int8)]})
