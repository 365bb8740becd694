from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from drawn import Draw, extent, floats, raises_error, sliced, to_beats, verify
from harness import beats, lone
from seeds import one_seed_each, others_slow, some_slow

from stepgen.hw.design.block_rams import SHALLOW
from stepgen.hw.design.table import Channel
from stepgen.hw.units.matmul.params import Matmul
from stepgen.ir.errors import StepError
from stepgen.ir.wire import VALUE
from stepgen.semantics import numbers
from stepgen.semantics.sums import Sums
from stepgen.timing.model import predict

INTEGERS = ("int8", "int16")
ELEMENTS = (*INTEGERS, "bf16")
ROWS = (0, 1, 1, 2, 3, 5)


def unit(
    draw: Draw,
    lanes: int,
    k: int,
    n: int,
    rank: int,
    *,
    stops: bool = True,
    element: str = "int8",
    transposed: bool = False,
    bias: bool = False,
    buffers: int | None = None,
):
    """A matrix unit between ports, with drawn FIFOs."""
    buffers = buffers or draw.one((1, 2))
    params = Matmul(
        k, n, element=element, stops=stops, transposed=transposed, bias=bias, buffers=buffers
    )
    wire, bits = 2 + rank, params.summing.element.bits
    y = draw.channel("y", wire, lanes=lanes, bits=32, delay=params.delay(lanes))
    return lone(
        params,
        [
            draw.channel(name, wire, lanes=lanes, bits=32 if name == "b" else bits)
            for name in params.inputs
        ],
        [replace(y, tail=n % lanes)],
        lanes=lanes,
    )


def starting(draw: Draw, n: int, element: str):
    """A row where sums start; floats may be zero, infinite, NaN, or far from products."""
    if element in INTEGERS:
        return draw.rng.integers(-(2**31), 2**31, (1, n)).astype(np.int32)
    row = draw.rng.standard_normal((1, n)) * 2.0 ** draw.rng.integers(-40, 41, (1, n))
    special = draw.rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 2.0**-126, 3.4e38], (1, n))
    return np.where(draw.rng.random((1, n)) < 0.2, special, row).astype(np.float32)


def alike(draw: Draw, shape: tuple[int, int]):
    """One number: no sum of so many products is larger than that of the last of these."""
    return numbers.as_element(np.full(shape, draw.one((1.0, 1.5, 2.0 - 2.0**-7))), "bf16")


def product_of(x, w, lanes, start=None):
    if x.dtype.kind == "i":
        made = x.astype(np.int32) @ w.astype(np.int32)
        return made if start is None else made + start
    begun = np.zeros((len(x), w.shape[1]), np.float32) + (-0.0 if start is None else start)
    return Sums.of(begun).plus(x, w, lanes).rounded()


def products(
    draw: Draw,
    dims: list,
    lanes: int,
    k: int,
    n: int,
    extreme: bool = False,
    element: str = "int8",
    transposed: bool = False,
    bias: bool = False,
):
    """Nested x, w, rows where sums start, and y of drawn extents and values; every dim ragged."""

    def matrix(rows, columns):
        if extreme and element in INTEGERS:
            return np.full((rows, columns), numbers.lowest(element), element)
        if element == "bf16":
            largest = np.full((rows, columns), -2.0 + 2.0**-7)
            return (
                numbers.as_element(largest, element) if extreme else floats(draw, (rows, columns))
            )
        low, high = numbers.lowest(element), numbers.highest(element)
        return draw.rng.integers(low, high + 1, (rows, columns)).astype(element)

    def pair():
        start = starting(draw, n, element) if bias else None
        return matrix(draw.one(ROWS), k), matrix(k, n), start

    def each(items, depth, leaf):
        return [each(i, depth - 1, leaf) for i in items] if depth else leaf(items)

    pairs = draw.nested(dims, pair)
    depth = len(dims)
    x = each(pairs, depth, lambda p: sliced(p[0], lanes))
    w = each(pairs, depth, lambda p: sliced(p[1].T if transposed else p[1], lanes))
    b = each(pairs, depth, lambda p: sliced(p[2], lanes)) if bias else None
    y = each(pairs, depth, lambda p: sliced(product_of(p[0], p[1], lanes, p[2]), lanes))
    return x, w, b, y


def compare(
    draw: Draw,
    lanes: int,
    k: int,
    n: int,
    rank: int,
    dims: list,
    *,
    stops: bool = True,
    element: str = "int8",
    transposed: bool = False,
    bias: bool = False,
    **options,
):
    """Compare circuit, reference and model; without `stops`, tiles of w close no other group."""
    kind = {"element": element, "transposed": transposed, "bias": bias}
    x, w, b, y = products(draw, dims, lanes, k, n, **kind, **options)
    design = unit(draw, lanes, k, n, rank, stops=stops, **kind)
    wire = 2 + rank
    dtype, sums = numbers.DTYPES[element], np.int32 if element in INTEGERS else np.float32
    weights = to_beats(w, wire, dtype)
    if not stops:
        tiles = weights.kind == VALUE
        weights = replace(weights, stop=np.where(tiles, np.minimum(weights.stop, 2), weights.stop))
    inputs = {"s_x": to_beats(x, wire, dtype), "s_w": weights}
    if bias:
        inputs["s_b"] = to_beats(b, wire, sums)
    return verify(design, inputs, {"d_y": to_beats(y, wire, sums)}, draw.stalls(design))


@pytest.mark.parametrize(
    ("seed", "element", "transposed"), one_seed_each(range(16), ELEMENTS, (False, True))
)
def test_multiplies(seed, element, transposed):
    draw = Draw(seed)
    lanes = draw.one((2, 2, 4))
    k, n = (extent(draw, lanes, (1, 1, 2, 3)) for _ in range(2))
    rank = draw.one((0, 1, 2))
    dims = [(0, 1, 2, 4), *[(0, 1, 2)] * rank]
    kind = {"stops": bool(seed % 3), "element": element, "transposed": transposed}
    compare(draw, lanes, k, n, rank, dims, **kind)


@pytest.mark.parametrize(("seed", "element"), one_seed_each(range(8), ("int8", "bf16")))
def test_sums_start_at_a_row(seed, element):
    draw = Draw(seed)
    lanes, rank = draw.one((1, 2, 2, 4)), draw.one((0, 1, 2))
    k, n = (extent(draw, lanes, (1, 1, 2, 3)) for _ in range(2))
    dims = [(0, 1, 2, 4), *[(0, 1, 2)] * rank]
    kind = {"stops": bool(seed % 3), "element": element, "transposed": seed % 2 > 0}
    compare(draw, lanes, k, n, rank, dims, bias=True, **kind)


@pytest.mark.parametrize(
    ("n_slices", "element", "k_slices"),
    others_slow(
        product((1, 2, 3, 4, 7), ELEMENTS, (1, 3)),
        [(1, "bf16", 3), (2, "int16", 3), (3, "bf16", 3), (4, "int8", 3), (7, "int8", 3)],
    ),
)
def test_every_number_of_accumulators(k_slices, n_slices, element):
    draw = Draw(n_slices)
    compare(draw, 2, 2 * k_slices, 2 * n_slices, 0, [(5,)], element=element)


def rams(design):
    """The rows of each memory of the unit."""
    (dut,) = (one for one in design.units if one.name == "dut")
    return [ram.rows for ram in dut.params.rams(dut, design)]


@pytest.mark.parametrize(
    ("lanes", "slices", "blocks"), [(2, SHALLOW, 0), (2, SHALLOW + 1, 4), (1, SHALLOW + 1, 2)]
)
def test_more_sums_than_fit_lut_ram_are_in_block_ram(lanes, slices, blocks):
    n, draw = lanes * slices, Draw(slices)
    assert rams(unit(draw, lanes, 3 * lanes, n, 0, element="bf16")).count(slices) == blocks
    compare(draw, lanes, 3 * lanes, n, 0, [(3,)], element="bf16")


@pytest.mark.parametrize(("lanes", "slices", "rows"), [(2, 16, 32), (2, 17, 64), (1, 33, 128)])
def test_rows_of_x_are_read_for_each_slice_of_sums(lanes, slices, rows):
    k, draw = lanes * slices, Draw(slices)
    assert rams(unit(draw, lanes, k, 3 * lanes, 0))[-1] == rows
    compare(draw, lanes, k, 3 * lanes, 0, [(3,)])


@pytest.mark.parametrize(
    ("lanes", "element"),
    some_slow([(8, "int8"), (1, "bf16"), (3, "bf16"), (16, "int8"), (8, "bf16")], 3),
)
def test_many_and_few_lanes(lanes, element):
    draw = Draw(lanes)
    compare(draw, lanes, lanes * 2, lanes, 1, [(2,), (0, 1, 2)], element=element)


@pytest.mark.parametrize("element", ELEMENTS)
def test_sums_of_the_largest_products_are_exact(element):
    draw = Draw(0)
    compare(draw, 2, 32, 2, 0, [(3,)], extreme=True, element=element)


def test_between_slices_of_a_row_narrow_float_sums_rest():
    """A sum can step again after four cycles: with two slices of N every other pair is idle."""
    lanes, k, rows = 2, 8, 6
    draw = Draw(1)
    design = unit(draw, lanes, k, 4, 0, element="bf16").with_depths({"x": 4, "w": 4, "y": 64})
    x, w = (numbers.as_element(np.zeros(shape), "bf16") for shape in ((rows, k), (k, 4)))
    inputs = {
        "s_x": to_beats([sliced(x, lanes)], 2, x.dtype),
        "s_w": to_beats([sliced(w, lanes)], 2, w.dtype),
    }
    pushed = predict(design, inputs).pushes["y"]
    per_row = 3 * 4 + 2
    assert (np.diff(pushed[: 2 * rows : 2]) == per_row).all()


@pytest.mark.parametrize(("k_slices", "n_slices"), [(1, 1), (1, 4), (4, 1), (3, 2)])
def test_multipliers_are_busy_in_every_cycle(k_slices, n_slices):
    lanes, rows, tiles = 2, 24, 3
    k, n = lanes * k_slices, lanes * n_slices
    draw = Draw(1)
    design = unit(draw, lanes, k, n, 0, buffers=2).with_depths({"x": 4, "w": 4, "y": 64})
    x = np.zeros((tiles, rows, k), np.int8)
    w = np.zeros((tiles, k, n), np.int8)
    inputs = {
        "s_x": to_beats([sliced(t, lanes) for t in x], 2),
        "s_w": to_beats([sliced(t, lanes) for t in w], 2),
    }
    prediction = predict(design, inputs)
    compute = next(a for a in prediction.activities if a.name == "compute")
    steps = tiles * rows * k_slices * n_slices
    assert compute.busy == steps + 1
    first = compute.changes[0]
    assert prediction.pushes["y"][tiles * rows * n_slices - 1] == first + steps - 1


def test_shape_mismatch_raises_the_error_flag():
    draw = Draw(0)
    design = unit(draw, 2, 2, 2, 0).with_depths({"x": 2, "w": 2, "y": 4})
    w = beats([([1, 2], 1), ([3, 4], 2)], 2)
    good = beats([([1, 2], 2)], 2)
    assert not raises_error(design, {"s_x": good, "s_w": w})
    for x in (
        beats([([1, 2], 0), ([1, 2], 2)], 2),
        beats([([1, 2], 2), ([1, 2], 2)], 2),
        beats([], 2),
    ):
        assert raises_error(design, {"s_x": x, "s_w": w})
    long_row = beats([([1, 2], 0), ([3, 4], 2)], 2)
    assert raises_error(design, {"s_x": good, "s_w": long_row})
    assert raises_error(design, {"s_x": good, "s_w": beats([("bare", 2, 2)], 2)})


@pytest.mark.parametrize("n", [2, 6])
def test_rows_of_x_of_another_length_raise_the_error_flag(n):
    """With N inside and with K inside, which keeps a row."""
    design = unit(Draw(0), 2, 4, n, 0).with_depths({"x": 2, "w": 2, "y": 4})
    row = [*[([1, 2], 0)] * (n // 2 - 1), ([1, 2], 1)]
    w = beats([*row * 3, *row[:-1], ([1, 2], 2)], 2)
    first, last = ([1, 2], 0), ([3, 4], 2)
    assert not raises_error(design, {"s_x": beats([first, last], 2), "s_w": w})
    for x in ([last], [first, first, last]):
        assert raises_error(design, {"s_x": beats(x, 2), "s_w": w})


def test_a_row_is_complete_where_it_is_kept():
    design = unit(Draw(0), 2, 4, 6, 0).with_depths({"x": 2, "w": 2, "y": 4})
    w = to_beats([sliced(np.ones((4, 6), np.int8), 2)], 2)
    for x in ([([1, 2], 0), ("bare", 2, 2)], [("bare", 2, 1)]):
        assert raises_error(design, {"s_x": beats(x, 2), "s_w": w})


@pytest.mark.parametrize("x", [(3, 3), (3, 4), (4, 4)])
@pytest.mark.parametrize("w", [(3, 3), (3, 4), (4, 4)])
def test_empty_groups_have_to_be_the_same(x, w):
    """Also one that ends an outer group, of another level than its own."""
    design = unit(Draw(0), 2, 2, 2, 2).with_depths({"x": 2, "w": 2, "y": 4})
    inputs = {"s_x": beats([("bare", *x)], 2), "s_w": beats([("bare", *w)], 2)}
    assert raises_error(design, inputs, limit=40) == (x != w)


@pytest.mark.parametrize(
    ("changed", "x", "w", "y", "message"),
    [
        ({"n": 0}, (2, 8, 2), (2, 8, 2), (2, 32, 2), r"products of \[M,4\] and \[4,0\] are empty"),
        (
            {"element": "int32"},
            (2, 8, 2),
            (2, 8, 2),
            (2, 32, 2),
            "it multiplies int8 or int16 or bf16 or f32, not int32",
        ),
        ({}, (2, 8, 1), (2, 8, 2), (2, 32, 2), "the rank of x must be at least 2, not 1"),
        ({}, (2, 16, 2), (2, 8, 2), (2, 32, 2), "x must be of rank 2 with 2 lanes of 8 bits, not"),
        ({}, (2, 8, 2), (2, 8, 3), (2, 32, 2), "w must be of rank 2 .*, not of rank 3"),
        ({}, (2, 8, 2), (4, 8, 2), (2, 32, 2), "w must be of rank 2 with 2 lanes of 8 bits, not"),
        ({}, (2, 8, 2), (2, 8, 2), (2, 8, 2), "y must be .* 2 lanes of 32 bits 8 cycles late, not"),
        ({}, (2, 8, 2), (2, 8, 2), (2, 32, 2, 2, 7), "y must be .* 8 cycles late, not .* 7 cycles"),
    ],
)
def test_what_can_not_be_built(changed, x, w, y, message):
    params = {"k": 4, "n": 2, "element": "int8", "stops": True, **changed}
    y = Channel("y", *y) if len(y) > 3 else Channel("y", *y, delay=8)
    with pytest.raises(StepError, match=f"^design lone: matmul dut: {message}"):
        lone(Matmul(**params), [Channel("x", *x), Channel("w", *w)], [y])


@pytest.mark.parametrize("seed", some_slow(range(24), 3))
def test_sums_up_the_tiles_of_a_group(seed):
    """Groups of no tile give zeros where rows are static; tiles of no rows a tile of no rows."""
    draw = Draw(seed)
    sum_up(draw, floats, bound=draw.one((1, 2, 4)), counts=(0, 1, 1, 2, 3))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_largest_sums_of_a_group_fit(seed):
    sum_up(Draw(seed), alike, bound=1, counts=(1, 9, 20))


@pytest.mark.parametrize("seed", some_slow(range(8), 2))
def test_sends_the_sums_of_a_group_after_each_tile(seed):
    """Groups of several levels, some of whose parts are empty."""
    draw = Draw(seed)
    sum_up(draw, floats, bound=draw.one((1, 2, 3)), counts=(0, 1, 2, 3), over=draw.one((1, 2)))


@pytest.mark.parametrize("seed", some_slow(range(4), 1))
def test_sums_of_groups_start_at_a_number(seed):
    draw = Draw(seed)
    start = float(starting(draw, 1, "bf16")[0, 0])
    sum_up(draw, floats, bound=2, counts=(0, 1, 2), over=draw.one((0, 0, 1)), start=start)


def sum_up(
    draw: Draw, some, bound: int, counts: tuple[int, ...], over: int = 0, start: float = 0.0
):
    """Compare sums of groups of so many tiles with at most `bound` rows.

    With `over` the sums are sent after each tile, of groups of so many dims.
    """
    lanes, outer, fixed = draw.one((1, 2, 2, 4)), draw.one((1, 2)), draw.one((True, False))
    k, n = (extent(draw, lanes, (1, 1, 2, 3, 5)) for _ in range(2))
    inner = max(1, over)
    dims = [(0, 1, 2, 4), *[(0, 1, 2)] * (outer - 1)]

    def group():
        rows = bound if fixed else draw.one(range(bound + 1))
        sums = Sums.of(np.full((rows, n), start, np.float32))

        def tile():
            nonlocal sums
            x, w = some(draw, (rows, k)), some(draw, (k, n))
            sums = sums.plus(x, w, lanes)
            return x, w, sums.rounded()

        least = 0 if fixed or over else 1
        made = draw.nested([tuple({max(least, count) for count in counts})] * inner, tile)
        return made, sums.rounded()

    def each(items, depth, leaf):
        return [each(i, depth - 1, leaf) for i in items] if depth else leaf(items)

    groups = draw.nested(dims, group)
    transposed = draw.one((True, False))

    def of_tiles(part):
        return each(groups, outer, lambda g: each(g[0], inner, part))

    x = of_tiles(lambda t: sliced(t[0], lanes))
    w = of_tiles(lambda t: sliced(t[1].T if transposed else t[1], lanes))
    if over:
        y = of_tiles(lambda t: sliced(t[2], lanes))
    else:
        y = each(groups, outer, lambda g: sliced(g[1], lanes))
    params = Matmul(
        k,
        n,
        "bf16",
        stops=True,
        rows=bound,
        fixed=fixed,
        tiles=max(1, max(counts) ** inner),
        level=2 + over if over else 0,
        start=int(Sums.of(np.full((1, 1), start, np.float32)).rounded().view(np.uint32)[0, 0]),
        transposed=transposed,
        buffers=draw.one((1, 2)),
    )
    wire = 2 + outer - 1 + inner
    made = wire if over else wire - 1
    channel = draw.channel("y", made, lanes=lanes, bits=32, delay=params.delay(lanes))
    design = lone(
        params,
        [draw.channel(name, wire, lanes=lanes, bits=16) for name in ("x", "w")],
        [replace(channel, tail=n % lanes)],
        lanes=lanes,
    )
    bf16 = numbers.DTYPES["bf16"]
    inputs = {"s_x": to_beats(x, wire, bf16), "s_w": to_beats(w, wire, bf16)}
    verify(design, inputs, {"d_y": to_beats(y, made, np.float32)}, draw.stalls(design))
