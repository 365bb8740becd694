"""Tiles that are cut into tiles of some of their columns."""

import numpy as np
import pytest
from drawn import Draw, raises_error, to_beats, verify
from harness import beats, lone
from hw.test_rows import ELEMENTS, at_of, channel, mapped, values
from hw.test_rows import beats as beats_of_rows
from seeds import some_slow

import stepgen as sg
from stepgen.hw.design.table import Channel
from stepgen.hw.units.cut_tile.params import CutTile
from stepgen.ir.errors import StepError
from stepgen.ir.setting import Setting
from stepgen.timing.model import predict


@pytest.mark.parametrize("seed", some_slow(range(16), 4))
def test_tiles_of_some_columns(seed):
    draw = Draw(seed)
    element = ELEMENTS[draw.one((*ELEMENTS,))]
    lanes, rank, most = draw.one((1, 2, 4)), draw.one((2, 3, 4)), draw.one((1, 2, 5))
    width = draw.one([n for n in (1, 2, 4, 8) if n % lanes == 0 or lanes % n == 0])
    columns = width * draw.one((1, 2, 3, 5))
    rows = draw.one(((0, 1, most), (most,)))
    tile = sg.Tile(most, columns, element)
    nested = draw.nested(
        [draw.one(((0,), (1, 3), (4,))), *[(0, 1, 2)] * (rank - 2)],
        lambda: values(draw, element, draw.one(rows), columns),
    )
    params = CutTile(columns, width, most, element.bits)
    x = channel(draw, "x", rank, tile, lanes=lanes)
    cut, at = sg.fn.cut_cols(width), Setting(tile, at_of(tile), lanes)
    y = channel(draw, "y", rank + 1, sg.Tile(most, width, element), params.delay(lanes), lanes)
    given = mapped(nested, rank - 1, lambda t: beats_of_rows(draw, t, lanes))
    due = mapped(
        nested, rank - 1, lambda t: [beats_of_rows(draw, p, lanes) for p in cut.pieces(at, t)]
    )
    design = lone(params, [x], [y], lanes)
    verify(
        design,
        {"s_x": to_beats(given, rank, at_of(tile))},
        {"d_y": to_beats(due, rank + 1, at_of(tile))},
        draw.stalls(design),
    )


NEEDS = "a tile and its parts need at least 1 column and row, not"
TILE = [([1, 2], 0), ([3, 0], 1), ([4, 5], 0), ([6, 0], 2)]


def plain(x, **changed):
    """The unit for tiles of at most 2 rows of 3 columns, and its input."""
    params = CutTile(**{"columns": 3, "width": 1, "rows": 2, "bits": 8, **changed})
    channels = [Channel("x", 2, 8, 2, 9)], [Channel("y", 2, 8, 3, 9, delay=2)]
    return lone(params, *channels), {"s_x": beats(x, 2)}


def test_an_element_per_cycle_across_tiles():
    pushes = predict(*plain(TILE * 4)).pushes["y"]
    assert np.diff(pushes).tolist() == [1] * 24


@pytest.mark.parametrize(
    ("x", "wrong"),
    [
        (TILE, False),
        ([*TILE[:1], ([3, 0], 2)], False),
        ([("bare", 2, 2)], False),
        ([([1, 2], 2)], True),
        ([([1, 2], 0), ([3, 0], 0), ([3, 0], 2)], True),
        (TILE[:2] + TILE, True),
        ([*TILE[:2], ("bare", 2, 2)], True),
    ],
)
def test_tiles_that_do_not_fit(x, wrong):
    """Types rule it out, so the stream is given to the circuit alone."""
    assert raises_error(*plain(x), limit=60) is wrong


@pytest.mark.parametrize(
    ("changed", "ranks", "message"),
    [
        ({"columns": 0}, (2, 3), f"{NEEDS} 0, 1 and 2"),
        ({"width": 0}, (2, 3), f"{NEEDS} 3, 0 and 2"),
        ({"rows": 0}, (2, 3), f"{NEEDS} 3, 1 and 0"),
        ({"width": 2}, (2, 3), "rows of 3 columns can't be cut into parts of 2"),
        ({"width": 3}, (2, 3), "parts of 3 columns begin within beats of 2 lanes"),
        ({}, (1, 3), "x must have tiles"),
        ({}, (3, 3), "y must be of rank 4 with 2 lanes of 8 bits 2 cycles late, not of rank 3"),
    ],
)
def test_what_can_not_be_built(changed, ranks, message):
    params = CutTile(**{"columns": 3, "width": 1, "rows": 2, "bits": 8, **changed})
    with pytest.raises(StepError, match=f"^design lone: cut_tile dut: {message}"):
        lone(params, [Channel("x", 2, 8, ranks[0])], [Channel("y", 2, 8, ranks[1], delay=2)])
