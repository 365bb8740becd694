"""Tiles whose rows come column by column, in slices of some rows."""

import numpy as np
import pytest
from drawn import Draw, raises_error, sliced, to_beats, verify
from harness import beats, lone
from seeds import some_slow

from stepgen.hw.design.table import Channel
from stepgen.hw.units.turn_slices.params import TurnSlices
from stepgen.ir.errors import StepError
from stepgen.timing.model import predict


def turned(tile: np.ndarray, lanes: int) -> list:
    """Each `lanes` rows of a tile column by column, with zeros behind the last row."""
    whole = np.pad(tile, ((0, -len(tile) % lanes), (0, 0)))
    return [[*whole[n : n + lanes].T] for n in range(0, len(whole), lanes)]


def mapped(items: list, depth: int, change) -> list:
    return [mapped(i, depth - 1, change) for i in items] if depth else change(items)


def plain(columns: int, *, lanes: int = 2, rank: int = 2, bits: int = 8, depth: int = 4):
    params = TurnSlices(columns, bits)
    y = Channel("y", lanes, bits, rank, depth, delay=params.delay(lanes))
    return lone(params, [Channel("x", lanes, bits, rank, depth)], [y], lanes=lanes)


@pytest.mark.parametrize("seed", some_slow(range(24), 5))
def test_turns_tiles_of_any_rows(seed):
    draw = Draw(seed)
    lanes, columns, rank = (
        draw.one((1, 2, 3, 4, 8)),
        draw.one((1, 2, 4, 5, 9, 17)),
        draw.one((2, 3, 4)),
    )
    bits, element = draw.one(((8, "int8"), (16, "int16")))
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1

    def tile():
        rows = draw.one((1, lanes, lanes + 1, 2 * lanes, 3 * lanes - 1, 7))
        return draw.rng.integers(low, high + 1, (rows, columns)).astype(element)

    nested = draw.nested([(0, 1, 3), *[(0, 1, 2)] * (rank - 2)], tile)
    params = TurnSlices(columns, bits)
    y = draw.channel("y", rank, lanes=lanes, bits=bits, delay=params.delay(lanes))
    x = draw.channel("x", rank, lanes=lanes, bits=bits)
    design = lone(params, [x], [y], lanes=lanes)
    given = mapped(nested, rank - 1, lambda t: sliced(t, lanes))
    due = mapped(nested, rank - 1, lambda t: turned(t, lanes))
    verify(
        design,
        {"s_x": to_beats(given, rank, element)},
        {"d_y": to_beats(due, rank, element)},
        draw.stalls(design),
    )


def test_a_column_per_cycle_across_tiles():
    tiles, columns, lanes = 5, 8, 2
    x = to_beats([sliced(np.ones((4, columns), np.int8), lanes)] * tiles, 2)
    pushes = predict(plain(columns), {"s_x": x}).pushes["y"][:-1]
    assert len(pushes) == tiles * 2 * columns
    assert (np.diff(pushes) == 1).all()


def test_rows_of_another_length_raise_the_error_flag():
    good = [([1, 2], 0), ([3, 0], 1), ([4, 5], 0), ([6, 0], 2)]
    assert not raises_error(plain(3), {"s_x": beats(good, 2)})
    for wrong in (
        [([1, 2], 1), ([3, 0], 2)],
        [([1, 2], 0), ([3, 0], 0), ([4, 5], 2)],
        [([1, 2], 0), ("bare", 2, 2)],
    ):
        assert raises_error(plain(3), {"s_x": beats(wrong, 2)})


def test_what_can_not_be_built():
    with pytest.raises(StepError, match="a tile needs at least 1 column, not 0"):
        plain(0)
    with pytest.raises(StepError, match="x must have tiles"):
        plain(3, rank=1)
