import numpy as np
import pytest
from drawn import Draw, raises_error, to_beats, verify
from harness import lone
from seeds import some_slow

from stepgen.hw.design.table import Channel
from stepgen.hw.units.pack_cols.params import PackCols
from stepgen.ir.errors import StepError
from stepgen.timing.model import predict


def parted(draw, tile, parts, lanes):
    """A tile as rows of beats: the beats of each part of a row, with junk behind its columns."""
    rows = []
    for row in tile:
        cut = row.reshape(parts, -1)
        junk = draw.rng.integers(-128, 128, (parts, -cut.shape[1] % lanes), np.int8)
        rows.append(list(np.concatenate([cut, junk], axis=1).reshape(-1, lanes)))
    return rows


def whole(tile, lanes):
    """A tile as rows of full beats, the last one padded with zeros."""
    return [list(np.pad(row, (0, -len(row) % lanes)).reshape(-1, lanes)) for row in tile]


def mapped(items, depth, change):
    return [mapped(i, depth - 1, change) for i in items] if depth else change(items)


@pytest.mark.parametrize("seed", some_slow(range(60), 8))
def test_gaps_are_closed(seed):
    draw = Draw(seed)
    lanes = draw.one((2, 3, 4, 4, 5, 8))
    columns = draw.one([n for n in (1, 2, 3, 5, 6, 7, 9, 11) if n % lanes])
    parts, rank = draw.one((1, 2, 3, 5, 8)), draw.one((1, 2, 3))
    dims = [draw.one(((0,), (1, 3), (4,))), *[(0, 1, 2)] * (rank - 2)]

    def tile():
        size = (draw.one((0, 1, 2, 5)), parts * columns)
        return draw.rng.integers(-128, 128, size, np.int8)

    x = tile() if rank == 1 else draw.nested(dims, tile)
    params = PackCols(parts, columns, bits=8)
    channels = [draw.channel("x", rank, lanes=lanes)]
    out = draw.channel("y", rank, lanes=lanes, delay=params.delay(lanes))
    design = lone(params, channels, [out], lanes)
    given = mapped(x, max(0, rank - 1), lambda t: parted(draw, t, parts, lanes))
    due = mapped(x, max(0, rank - 1), lambda t: whole(t, lanes))
    verify(
        design,
        {"s_x": to_beats(given, rank)},
        {"d_y": to_beats(due, rank)},
        draw.stalls(design),
    )


def plain(rows, parts=3, columns=5, lanes=4):
    out = Channel("y", lanes, 8, 2, depth=8, delay=1)
    design = lone(PackCols(parts, columns, bits=8), [Channel("x", lanes, 8, 2)], [out], lanes)
    return design, {"s_x": to_beats([rows], 2)}


def test_a_beat_per_cycle():
    draw = Draw(1)
    tile = draw.rng.integers(-128, 128, (9, 15), np.int8)
    design, inputs = plain(parted(draw, tile, 3, 4))
    pops = predict(design, inputs).pops["x"]
    assert pops[-2] - pops[0] == 9 * 6 - 1


@pytest.mark.parametrize(("beats", "wrong"), [(6, False), (5, True), (7, True)])
def test_rows_of_another_length(beats, wrong):
    rows = [[np.zeros(4, np.int8)] * beats for _ in range(3)]
    design, inputs = plain(rows)
    assert raises_error(design, inputs, limit=60) == wrong


@pytest.mark.parametrize(
    ("params", "x", "message"),
    [
        (PackCols(0, 3, 8), (2, 8, 2), "at least 1 part of at least 1 column, not 0 of 3"),
        (PackCols(2, 0, 8), (2, 8, 2), "at least 1 part of at least 1 column, not 2 of 0"),
        (PackCols(2, 4, 8), (2, 8, 2), "parts of 4 columns leave no gaps in beats of 2 lanes"),
        (PackCols(2, 3, 8), (2, 8, 0), "x must have rows"),
        (PackCols(2, 3, 16), (2, 8, 2), "x must be of rank 2 with 2 lanes of 16 bits"),
    ],
)
def test_what_can_not_be_built(params, x, message):
    with pytest.raises(StepError, match=f"^design lone: pack_cols dut: .*{message}"):
        lone(params, [Channel("x", *x)], [Channel("y", *x, delay=1)])
