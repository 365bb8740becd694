"""Rows that are cut into tiles of one element."""

import numpy as np
import pytest
from drawn import LANES, Draw, raises_error, to_beats, verify
from harness import beats, lone
from hw.test_rows import beats as beats_of_rows
from hw.test_rows import mapped
from seeds import some_slow

from stepgen.hw.design.table import Channel
from stepgen.hw.units.cut_cols.params import CutCols
from stepgen.ir.errors import StepError
from stepgen.timing.model import predict


@pytest.mark.parametrize("seed", some_slow(range(16), 8))
def test_one_tile_for_each_element(seed):
    draw, columns = Draw(seed), Draw(seed).one((1, 2, 3, 4, 5, 8))
    rank = draw.one((2, 3, 4))
    nested = draw.nested(
        [(0, 1, 2, 5)] * (rank - 1),
        lambda: draw.rng.integers(-128, 128, (1, columns)).astype(np.int8),
    )
    x, y = draw.channel("x", rank), draw.channel("y", rank + 1)
    x = Channel("x", LANES, 8, rank, x.depth, 0, "int8", columns % LANES)
    y = Channel("y", LANES, 8, rank + 1, y.depth, 0, "int8", 1)
    design = lone(CutCols(columns, 8), [x], [y], lanes=LANES)
    given = mapped(nested, rank - 1, lambda tile: beats_of_rows(draw, tile))
    due = mapped(
        nested, rank - 1, lambda tile: [beats_of_rows(draw, np.array([[v]])) for v in tile[0]]
    )
    verify(
        design,
        {"s_x": to_beats(given, rank, np.int8)},
        {"d_y": to_beats(due, rank + 1, np.int8)},
        draw.stalls(design),
    )


def test_an_element_per_cycle_across_rows():
    design = lone(CutCols(5, 8), [Channel("x", 2, 8, 2, 9)], [Channel("y", 2, 8, 3, 9)], lanes=2)
    row = [([1, 2], 0), ([3, 4], 0), ([5, 0], 2)]
    pushes = predict(design, {"s_x": beats(row * 4, 2)}).pushes["y"]
    assert np.diff(pushes).tolist() == [1] * 20


@pytest.mark.parametrize(
    ("x", "wrong"),
    [
        ([([1, 2], 0), ([3, 0], 2)], False),
        ([([1, 2], 2), ([3, 0], 2)], True),
        ([([1, 2], 0), ([3, 0], 0), ([3, 0], 2)], True),
    ],
)
def test_rows_of_another_length_are_an_error(x, wrong):
    """Types rule it out, so the stream is given to the circuit alone."""
    design = lone(CutCols(3, 8), [Channel("x", 2, 8, 2)], [Channel("y", 2, 8, 3)])
    assert raises_error(design, {"s_x": beats(x, 2)}, limit=60) is wrong


@pytest.mark.parametrize(
    ("columns", "rank", "message"),
    [
        (0, 2, "a row needs at least 1 column, not 0"),
        (3, 1, "x must have tiles"),
        (3, 3, "y must be of rank 4 with 2 lanes of 8 bits, not of rank 3 with 2 lanes"),
    ],
)
def test_what_can_not_be_built(columns, rank, message):
    with pytest.raises(StepError, match=f"^design lone: cut_cols dut: {message}"):
        lone(CutCols(columns, 8), [Channel("x", 2, 8, rank)], [Channel("y", 2, 8, 3)])
