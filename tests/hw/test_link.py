"""Streams that pass to beats of other lanes."""

import numpy as np
import pytest
from drawn import Draw, to_beats, verify
from harness import beats, check, lone
from hw.test_rows import mapped
from seeds import some_slow

from stepgen.hw.design.table import Channel
from stepgen.hw.units.link.params import Link
from stepgen.ir.errors import StepError
from stepgen.timing.model import predict

LANES = (1, 2, 4, 8, 16)


def sliced(draw: Draw, tile: np.ndarray, lanes: int) -> list:
    """A tile as rows of beats, with junk behind the end of a row."""
    spare = -tile.shape[1] % lanes
    junk = draw.rng.integers(-128, 128, (len(tile), spare)).astype(np.int8)
    return [list(r.reshape(-1, lanes)) for r in np.concatenate([tile, junk], axis=1)]


def between(draw: Draw, take: int, give: int, columns: int, rank: int):
    """A link of drawn depths."""
    x, y = (
        Channel(name, lanes, 8, rank, draw.channel(name, rank).depth, 0, "int8", columns % lanes)
        for name, lanes in (("x", take), ("y", give))
    )
    return lone(Link(take, give, columns), [x], [y])


@pytest.mark.parametrize("seed", some_slow(range(32), 8))
def test_rows_stay_what_they_are(seed):
    draw = Draw(seed)
    take, give = draw.one(LANES), draw.one(LANES)
    columns, rank = draw.one((1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 33)), draw.one((2, 3, 4))
    nested = draw.nested(
        [(0, 1, 2, 3)] * (rank - 1),
        lambda: draw.rng.integers(-128, 128, (draw.one((0, 1, 2, 3)), columns)).astype(np.int8),
    )
    design = between(draw, take, give, columns, rank)
    given, due = (
        mapped(nested, rank - 1, lambda tile, lanes=lanes: sliced(draw, tile, lanes))
        for lanes in (take, give)
    )
    verify(
        design,
        {"s_x": wide(given, rank, take)},
        {"d_y": wide(due, rank, give)},
        draw.stalls(design),
    )


@pytest.mark.parametrize("abort", range(4, 8))
@pytest.mark.parametrize(("take", "give"), [(8, 2), (2, 8)])
def test_a_soft_reset_within_a_beat(take, give, abort):
    draw = Draw(3)
    tile = draw.rng.integers(-128, 128, (3, 8)).astype(np.int8)
    given, due = (wide([sliced(draw, tile, lanes)], 2, lanes) for lanes in (take, give))
    design = between(draw, take, give, 8, 2)
    check(design, {"s_x": given}, {"d_y": due}, aborts=[abort])


def wide(nested: list, rank: int, lanes: int):
    """Beats of so many lanes, also where there are none."""
    made = to_beats(nested, rank, np.int8)
    if made.data.shape[1] == lanes:
        return made
    return type(made)(made.kind, made.stop, made.low, np.zeros((len(made), lanes), np.int8))


@pytest.mark.parametrize("seed", some_slow(range(4), 2))
def test_what_has_no_rows_passes_too(seed):
    draw = Draw(seed)
    x, y = (draw.channel(name, 1, lanes=3, bits=1) for name in "xy")
    design = lone(Link(), [x], [y])
    nested = draw.nested([(0, 1, 2, 5)] * 2, lambda: draw.flags(3, 0.5))
    given = to_beats(nested, 1, np.bool_)
    if given.data.shape[1] != 3:
        given = type(given)(given.kind, given.stop, given.low, np.zeros((len(given), 3), np.bool_))
    verify(design, {"s_x": given}, {"d_y": given}, draw.stalls(design))


@pytest.mark.parametrize(("take", "give"), [(8, 2), (2, 8), (4, 4), (16, 1)])
def test_a_beat_per_cycle_on_the_side_of_fewer_lanes(take, give):
    x, y = Channel("x", take, 8, 2, 9), Channel("y", give, 8, 2, 9)
    design = lone(Link(take, give, 16), [x], [y])
    count = 16 // take
    row = [([1] * take, 0)] * (count - 1) + [([1] * take, 2)]
    moved = predict(design, {"s_x": beats(row * 6, take)})
    narrow = moved.pops["x"] if take < give else moved.pushes["y"]
    assert np.diff(narrow).tolist() == [1] * (6 * max(count, 16 // give))


def test_what_a_row_leaves_empty_is_not_sent():
    """A row of 5 in beats of 4 ends with one element, which is one beat of 1 and of 2 lanes."""
    for give, parts in ((1, 5), (2, 3)):
        design = lone(Link(4, give, 5), [Channel("x", 4, 8, 2)], [Channel("y", give, 8, 2)])
        row = [([1, 2, 3, 4], 0), ([5, 0, 0, 0], 2)]
        assert len(predict(design, {"s_x": beats(row, 4)}).pushes["y"]) == parts + 1


@pytest.mark.parametrize(
    ("link", "x", "y", "message"),
    [
        (Link(3, 2), (3, 2), (2, 2), "beats of 3 lanes can't become beats of 2"),
        (Link(0, 2), (3, 2), (2, 2), "beats of 0 lanes can't become beats of 2"),
        (Link(4, 2, 0), (4, 2), (2, 2), "a row needs at least 1 column, not 0"),
        (Link(4, 2, 4), (4, 1), (2, 1), "x must have tiles"),
        (Link(4, 2, 4), (4, 2), (2, 3), "y must be of rank 2 with 2 lanes of 8 bits, not of"),
        (Link(), (4, 2), (2, 2), "y must be of rank 2 with 4 lanes of 8 bits, not of rank 2 with"),
    ],
)
def test_what_can_not_be_built(link, x, y, message):
    with pytest.raises(StepError, match=f"^design lone: link dut: {message}"):
        lone(link, [Channel("x", x[0], 8, x[1])], [Channel("y", y[0], 8, y[1])])
