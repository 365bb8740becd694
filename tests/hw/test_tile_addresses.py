"""Selectors and numbers become the addresses of tiles, in model and circuit."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import Draw, raises_error, to_beats, verify
from harness import beats, lone
from seeds import some_slow

import stepgen as sg
from stepgen.hw.design.table import Channel
from stepgen.hw.units.tile_addresses.params import TileAddresses
from stepgen.ir.errors import StepError
from stepgen.ir.setting import Setting
from stepgen.timing.model import Fault, predict

SCALAR = sg.Tile(1, 1, sg.address)


def through(nested, depth, change):
    return [through(i, depth - 1, change) for i in nested] if depth else change(nested)


def joined(nested, depth):
    """The innermost lists of a nested list as one."""
    if depth > 1:
        return [joined(item, depth - 1) for item in nested]
    return [piece for item in nested for piece in item]


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("selectors", [False, True])
@pytest.mark.parametrize("seed", some_slow(range(10), 2))
def test_each_has_as_many_addresses(seed, selectors, grouped):
    draw = Draw([seed, selectors, grouped])
    count, bits, width = draw.one((1, 2, 3, 6, 8)), draw.one((2, 5, 32)), draw.one((1, 2, 5))
    rank = draw.one((0, 1, 2))
    fn = sg.fn.tile_addresses(count)
    hot = draw.one((1, 1, draw.rng.integers(1, width + 1))) if selectors else 1
    unit = TileAddresses(count, width if selectors else 0, grouped, int(hot))
    at = Setting(SCALAR, np.dtype(np.uint64), 1, sg.Selector(width, int(hot)))

    def drawn():
        if selectors:
            return draw.rng.permutation(width) < hot
        return draw.rng.integers(0, 1 << draw.one((2, bits)), 1).astype(np.uint64)

    def made(element):
        given = element if selectors else element[None]
        pieces = fn.pieces(at, given)
        return [np.minimum(piece[0], np.uint64((1 << bits) - 1)) for piece in pieces]

    nested = draw.nested([(0, 1, 2, 5)] * (rank + 1), drawn)
    due = through(nested, rank + 1, made)
    x = {"lanes": width, "bits": 1} if selectors else {"lanes": 1, "bits": bits}
    design = lone(
        unit,
        [draw.channel("x", rank, **x)],
        [draw.channel("y", rank + grouped, lanes=1, bits=bits, delay=unit.delay(1))],
    )
    verify(
        design,
        {"s_x": to_beats(nested, rank, bool if selectors else np.uint64)},
        {
            "d_y": to_beats(due, rank + 1, np.uint64)
            if grouped
            else to_beats(joined(due, rank + 1), rank, np.uint64)
        },
        draw.stalls(design),
    )


@pytest.mark.parametrize(
    ("bits", "wrong"), [([0, 1, 0], False), ([0, 0, 0], True), ([1, 0, 1], True), ([1] * 3, True)]
)
def test_a_selector_that_is_not_one_hot_stops_the_unit(bits, wrong):
    design = lone(
        TileAddresses(2, 3, False),
        [Channel("x", 3, 1, 0)],
        [Channel("y", 1, 4, 0, depth=9)],
    )
    stream = {"s_x": beats([([0, 0, 1], 0), (bits, 0)], 3, bool)}
    assert raises_error(design, stream) is wrong
    if wrong:
        with pytest.raises(Fault, match=f"needs selectors with one bit set, not with {sum(bits)}"):
            predict(design, stream)


@pytest.mark.parametrize("bits", [[1, 0, 1], [0, 1, 0], [1, 1, 1]])
def test_a_selector_with_another_number_of_bits_stops_the_unit(bits):
    design = lone(
        TileAddresses(2, 3, False, hot=2),
        [Channel("x", 3, 1, 0)],
        [Channel("y", 1, 4, 0, depth=9)],
    )
    stream = {"s_x": beats([([0, 1, 1], 0), (bits, 0)], 3, bool)}
    wrong = sum(bits) != 2
    assert raises_error(design, stream) is wrong
    if wrong:
        with pytest.raises(Fault, match=f"needs selectors with 2 bits set, not with {sum(bits)}"):
            predict(design, stream)


@pytest.mark.parametrize(
    ("unit", "x", "y", "message"),
    [
        (TileAddresses(0, 3, False), (3, 1, 0), (1, 4, 0), "each must have at least 1 address"),
        (TileAddresses(2, -1, False), (3, 1, 0), (1, 4, 0), "a selector must have at least 1 bit"),
        (TileAddresses(2, 3, False, hot=4), (3, 1, 0), (1, 4, 0), "of 3 bits there can't be 4 set"),
        (TileAddresses(2, 3, False), (2, 1, 0), (1, 4, 0), "x must be of rank 0 with 3 lanes of 1"),
        (TileAddresses(2, 0, False), (1, 5, 0), (1, 4, 0), "x must be of rank 0 with 1 lane of 4"),
        (TileAddresses(2, 3, True), (3, 1, 0), (1, 4, 0), "y must be of rank 1 with 1 lane of 4"),
        (TileAddresses(3, 0, False), (1, 4, 0), (1, 4, 0), "y must be of rank 0 .* 3 cycles late"),
    ],
)
def test_what_can_not_be_built(unit, x, y, message):
    with pytest.raises(StepError, match=f"^design lone: tile_addresses dut: {message}"):
        lone(unit, [Channel("x", *x)], [Channel("y", *y)])


def test_multipliers_are_counted():
    for count, needed in ((4, 0), (6, 1)):
        unit = TileAddresses(count, 0, False)
        y = Channel("y", 1, 4, 0, delay=unit.delay(1))
        design = lone(unit, [Channel("x", 1, 4, 0)], [y])
        assert unit.multipliers(design) == needed
    assert TileAddresses(6, 3, False).multipliers(design) == 0
