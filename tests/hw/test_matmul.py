from dataclasses import replace

import numpy as np
import pytest
from drawn import Draw, raises_error, to_beats, verify
from harness import beats, lone

from stepgen.hw.design.table import Channel
from stepgen.hw.units.matmul.params import Matmul
from stepgen.ir.errors import StepError
from stepgen.ir.wire import VALUE
from stepgen.timing.model import predict

ROWS = (0, 1, 1, 2, 3, 5)


def sliced(matrix: np.ndarray, lanes: int) -> list:
    """A tile on the wire: rows of slices."""
    return [list(row.reshape(-1, lanes)) for row in matrix]


def unit(draw: Draw, lanes: int, k: int, n: int, rank: int, *, stops: bool = True):
    """A matrix unit between ports, with drawn FIFOs."""
    params = Matmul(k, n, in_bits=8, out_bits=32, stops=stops)
    wire = 2 + rank
    return lone(
        params,
        [draw.channel("x", wire, lanes=lanes), draw.channel("w", wire, lanes=lanes)],
        [draw.channel("y", wire, lanes=lanes, bits=32, delay=params.delay(lanes))],
        lanes=lanes,
    )


def products(draw: Draw, dims: list, lanes: int, k: int, n: int, extreme: bool = False):
    """Nested x, w and y of drawn extents and values; every dim ragged."""

    def matrix(rows, columns):
        if extreme:
            return np.full((rows, columns), -128, np.int8)
        return draw.rng.integers(-128, 128, (rows, columns)).astype(np.int8)

    def pair():
        return matrix(draw.one(ROWS), k), matrix(k, n)

    def each(items, depth, leaf):
        return [each(i, depth - 1, leaf) for i in items] if depth else leaf(items)

    pairs = draw.nested(dims, pair)
    depth = len(dims)
    x = each(pairs, depth, lambda p: sliced(p[0], lanes))
    w = each(pairs, depth, lambda p: sliced(p[1], lanes))
    y = each(pairs, depth, lambda p: sliced(p[0].astype(np.int32) @ p[1].astype(np.int32), lanes))
    return x, w, y


def compare(
    draw: Draw, lanes: int, k: int, n: int, rank: int, dims: list, *, stops: bool = True, **options
):
    """Compare circuit, numpy and cycle model; without `stops`, tiles of w close no other group."""
    x, w, y = products(draw, dims, lanes, k, n, **options)
    design = unit(draw, lanes, k, n, rank, stops=stops)
    wire = 2 + rank
    weights = to_beats(w, wire)
    if not stops:
        tiles = weights.kind == VALUE
        weights = replace(weights, stop=np.where(tiles, np.minimum(weights.stop, 2), weights.stop))
    inputs = {"s_x": to_beats(x, wire), "s_w": weights}
    return verify(design, inputs, {"d_y": to_beats(y, wire, np.int32)}, draw.stalls(design))


@pytest.mark.parametrize("seed", range(24))
def test_multiplies(seed):
    draw = Draw(seed)
    lanes = draw.one((2, 2, 4))
    k, n = (lanes * draw.one((1, 1, 2, 3)) for _ in range(2))
    rank = draw.one((0, 1, 2))
    dims = [(0, 1, 2, 4), *[(0, 1, 2)] * rank]
    compare(draw, lanes, k, n, rank, dims, stops=bool(seed % 3))


@pytest.mark.parametrize("n_slices", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("k_slices", [1, 3])
def test_every_number_of_accumulators(k_slices, n_slices):
    draw = Draw(n_slices)
    compare(draw, 2, 2 * k_slices, 2 * n_slices, 0, [(5,)])


@pytest.mark.parametrize("lanes", [8, 16])
def test_many_lanes(lanes):
    draw = Draw(lanes)
    compare(draw, lanes, lanes * 2, lanes, 1, [(2,), (0, 1, 2)])


def test_sums_of_the_largest_products_are_exact():
    draw = Draw(0)
    compare(draw, 2, 32, 2, 0, [(3,)], extreme=True)


@pytest.mark.parametrize(("k_slices", "n_slices"), [(1, 1), (1, 4), (4, 1), (3, 2)])
def test_multipliers_are_busy_in_every_cycle(k_slices, n_slices):
    lanes, rows, tiles = 2, 24, 3
    k, n = lanes * k_slices, lanes * n_slices
    draw = Draw(1)
    design = unit(draw, lanes, k, n, 0).with_depths({"x": 4, "w": 4, "y": 64})
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
    assert first + steps <= prediction.pops["x"][-1]
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


@pytest.mark.parametrize(
    ("changed", "x", "w", "y", "message"),
    [
        ({"k": 3}, (2, 8, 2), (2, 8, 2), (2, 32, 2), "the rows and columns .* of 2 lanes, not 3 "),
        ({"n": 0}, (2, 8, 2), (2, 8, 2), (2, 32, 2), "the rows and columns .* of 2 lanes, not 4 "),
        ({"in_bits": 0}, (2, 8, 2), (2, 8, 2), (2, 32, 2), "elements need at least 1 bit, not 0"),
        ({}, (2, 8, 1), (2, 8, 2), (2, 32, 2), "the rank of x must be at least 2, not 1"),
        ({}, (2, 16, 2), (2, 8, 2), (2, 32, 2), "x must be of rank 2 with 2 lanes of 8 bits, not"),
        ({}, (2, 8, 2), (2, 8, 3), (2, 32, 2), "w must be of rank 2 .*, not of rank 3"),
        ({}, (2, 8, 2), (4, 8, 2), (2, 32, 2), "w must be of rank 2 with 2 lanes of 8 bits, not"),
        ({}, (2, 8, 2), (2, 8, 2), (2, 8, 2), "y must be .* 2 lanes of 32 bits 8 cycles late, not"),
        ({}, (2, 8, 2), (2, 8, 2), (2, 32, 2, 2, 7), "y must be .* 8 cycles late, not .* 7 cycles"),
    ],
)
def test_what_can_not_be_built(changed, x, w, y, message):
    params = {"k": 4, "n": 2, "in_bits": 8, "out_bits": 32, "stops": True, **changed}
    y = Channel("y", *y) if len(y) > 3 else Channel("y", *y, delay=8)
    with pytest.raises(StepError, match=f"^design lone: matmul dut: {message}"):
        lone(Matmul(**params), [Channel("x", *x), Channel("w", *w)], [y])
