"""Tiles pass a limit up to the first one that is too large."""

from __future__ import annotations

import pytest
from drawn import Draw, to_beats, verify
from harness import lone, simulate
from seeds import some_slow

from stepgen.hw.design.registers import TOO_LARGE, detail_of
from stepgen.hw.design.table import Channel, Design
from stepgen.hw.units.limit.params import Limit
from stepgen.ir.errors import StepError
from stepgen.ir.stalls import Stalls
from stepgen.timing.model import Fault, predict

MOST = 3


def limited(draw: Draw, level: int) -> Design:
    """Of rows of two slices, or of elements that come one by one."""
    lanes = 2 if level else 1
    channels = (draw.channel(name, 3, lanes=lanes) for name in "xy")
    return lone(Limit(MOST, level), [next(channels)], [next(channels)])


def tile(draw: Draw, level: int, size: int) -> list:
    """So many rows; or rows of so many elements."""
    rows, slices = (size, 2) if level else (2, size)
    return [[draw.beat()[: 1 + level] for _ in range(slices)] for _ in range(rows)]


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("seed", some_slow(range(12), 3))
def test_tiles_that_fit_pass(seed: int, level: int) -> None:
    draw = Draw([seed, level])
    sizes = (0, 1, MOST) if level else (1, MOST)
    tiles = draw.nested([(0, 1, 3), (0, 2)], lambda: tile(draw, level, draw.one(sizes)))
    beats, design = to_beats(tiles, 3), limited(draw, level)
    verify(design, {"s_x": beats}, {"d_y": beats}, draw.stalls(design))


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("seed", some_slow(range(12), 3))
def test_a_tile_that_is_too_large(seed: int, level: int) -> None:
    """The error and its size, also behind a soft reset while it is counted; then a run."""
    draw = Draw([seed, level, 1])
    design, size = limited(draw, level), draw.one((MOST + 1, MOST + 2, 9))
    tiles = [[tile(draw, level, n) for n in (1, MOST, size, 2)]]
    wrong, good = to_beats(tiles, 3), to_beats([], 3)
    stalls, what = Stalls(seed, {"s_x": 0.5 * (seed % 2)}), "rows" if level else "columns"
    said = f"dut gets a tile of weights of {size} {what}, and has memory for {MOST}"
    with pytest.raises(Fault, match=said) as raised:
        predict(design, {"s_x": wrong}, stalls=stalls)
    fault = raised.value
    assert fault.detail == detail_of(TOO_LARGE, size)
    seen: list = []
    aborts = [fault.cycle + draw.one((1, 2, 3)), fault.stopped.cycles + 20]
    *_, error = simulate(
        design, {"s_x": good}, stalls, aborts=aborts, first={"s_x": wrong}, seen=seen
    )
    came, flags, detail = seen[-1]
    assert flags == 1 << fault.code - 1
    assert detail == fault.detail
    assert len(came["d_y"]) == len(fault.stopped.pops["y"])
    assert not error


@pytest.mark.parametrize(
    ("unit", "lanes", "rank", "message"),
    [
        (Limit(0, 1), 2, 3, "there must be memory for 1 at least, not for 0"),
        (Limit(3, 2), 2, 3, "x must have groups of level 3"),
        (Limit(3, 1), 2, 1, "x must have groups of level 2"),
        (Limit(3, 0), 2, 3, "elements that are counted come one by one, not in 2 lanes"),
    ],
)
def test_what_can_not_be_built(unit: Limit, lanes: int, rank: int, message: str) -> None:
    with pytest.raises(StepError, match=f"limit dut: {message}"):
        lone(unit, [Channel("x", lanes, 8, rank)], [Channel("y", lanes, 8, rank)])
