"""Rows that are cut into tiles of some of their columns."""

import numpy as np
import pytest
from drawn import Draw, raises_error, to_beats, verify
from harness import beats, lone
from hw.test_rows import beats as beats_of_rows
from hw.test_rows import channel, mapped
from seeds import some_slow

import stepgen as sg
from stepgen.hw.design.table import Channel
from stepgen.hw.units.cut_cols.params import CutCols
from stepgen.ir.errors import StepError
from stepgen.timing.model import predict


def spread(row, width, lanes):
    """The beats of a row's parts; behind the end of a part are those columns that are there."""
    sent = []
    for first in range(0, len(row), width):
        for begin in range(first, first + width, lanes):
            end = min(begin + lanes, first + width)
            there = row[begin : -(-end // lanes) * lanes][:lanes]
            sent.append([*there, *[0] * (lanes - len(there))])
    return sent


@pytest.mark.parametrize("seed", some_slow(range(24), 6))
def test_tiles_of_some_columns(seed):
    """Of one row apart, and of several rows with each part from a beat on."""
    draw, apart = Draw(seed), seed % 3 > 0
    width, lanes = draw.one((1, 2, 3, 4, 5, 6)), draw.one((1, 2, 4))
    if not apart:  # there parts begin within beats
        width, lanes = draw.one((3, 5)), draw.one((2, 4))
    rank, columns = draw.one((2, 3, 4)), width * draw.one((1, 2, 3, 4))
    sizes = (1,) if apart else (0, 1, 3)
    nested = draw.nested(
        [(0, 1, 2, 5)] * (rank - 1),
        lambda: draw.rng.integers(-128, 128, (draw.one(sizes), columns)).astype(np.int8),
    )
    x = channel(draw, "x", rank, sg.int8[1, columns], lanes=lanes)
    y = channel(draw, "y", rank + apart, sg.int8[1, width], lanes=lanes)
    design = lone(CutCols(columns, width, 8, apart), [x], [y], lanes=lanes)

    def cut(tile):
        if apart:
            pieces = sg.fn.cut_cols(width).pieces(None, tile)
            return [beats_of_rows(draw, piece, lanes) for piece in pieces]
        return [spread(row, width, lanes) for row in tile]

    given = mapped(nested, rank - 1, lambda tile: beats_of_rows(draw, tile, lanes))
    verify(
        design,
        {"s_x": to_beats(given, rank, np.int8)},
        {"d_y": to_beats(mapped(nested, rank - 1, cut), rank + apart, np.int8)},
        draw.stalls(design),
    )


@pytest.mark.parametrize(("width", "beats_of_row"), [(1, 6), (2, 3), (3, 4), (6, 3)])
def test_a_beat_per_cycle_across_rows(width, beats_of_row):
    params = CutCols(6, width, 8)
    design = lone(params, [Channel("x", 2, 8, 2, 9)], [Channel("y", 2, 8, 3, 9)], lanes=2)
    row = [([1, 2], 0), ([3, 4], 0), ([5, 6], 2)]
    pushes = predict(design, {"s_x": beats(row * 4, 2)}).pushes["y"]
    assert np.diff(pushes).tolist() == [1] * (4 * beats_of_row)


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
    design = lone(CutCols(3, 1, 8), [Channel("x", 2, 8, 2)], [Channel("y", 2, 8, 3)])
    assert raises_error(design, {"s_x": beats(x, 2)}, limit=60) is wrong


@pytest.mark.parametrize(
    ("columns", "width", "rank", "message"),
    [
        (0, 1, 2, "a row and its parts need at least 1 column, not 0 and 1"),
        (3, 0, 2, "a row and its parts need at least 1 column, not 3 and 0"),
        (3, 2, 2, "rows of 3 columns can't be cut into parts of 2"),
        (3, 1, 1, "x must have tiles"),
        (3, 1, 3, "y must be of rank 4 with 2 lanes of 8 bits, not of rank 3 with 2 lanes"),
    ],
)
def test_what_can_not_be_built(columns, width, rank, message):
    with pytest.raises(StepError, match=f"^design lone: cut_cols dut: {message}"):
        lone(CutCols(columns, width, 8), [Channel("x", 2, 8, rank)], [Channel("y", 2, 8, 3)])
