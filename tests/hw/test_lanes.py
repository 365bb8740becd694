"""Rows as slices and as elements that come one by one, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import Draw, to_beats, verify
from harness import lone, row, sink, source
from seeds import some_slow

from stepgen.hw.design.table import Bus, Channel, Design
from stepgen.hw.units.join_lanes.params import JoinLanes
from stepgen.hw.units.split_lanes.params import SplitLanes
from stepgen.ir.errors import StepError


def drawn_rows(draw: Draw) -> list:
    """Groups of groups of rows with one element or more."""
    return draw.nested(
        [(0, 1, 3), (0, 1, 2)],
        lambda: draw.rng.integers(-128, 128, draw.one((1, 2, 3, 4, 7))).astype(np.int8),
    )


def each_row(groups: list, change) -> list:
    return [[change(r) for r in group] for group in groups]


def elements(numbers: np.ndarray) -> list:
    return [numbers[n : n + 1] for n in range(len(numbers))]


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("seed", some_slow(range(12), 3))
def test_elements_become_slices(seed: int, counts: bool) -> None:
    draw = Draw([seed, counts])
    lanes, fill = draw.one((1, 2, 3, 4)), draw.one((0, 0x7F))

    def slices(numbers: np.ndarray) -> list:
        lacks = -len(numbers) % lanes
        whole = np.append(numbers, [np.int8(fill)] * lacks).reshape(-1, lanes).astype(np.int8)
        said = np.zeros((len(whole), 1), np.int8)
        said[-1] = lacks
        return list(np.hstack([whole, said]) if counts else whole)

    rows = drawn_rows(draw)
    design = lone(
        JoinLanes(8, counts, fill),
        [draw.channel("x", 2, lanes=1)],
        [draw.channel("y", 2, lanes=lanes + counts)],
        lanes=lanes,
    )
    given, due = (to_beats(each_row(rows, how), 2) for how in (elements, slices))
    verify(design, {"s_x": given}, {"d_y": due}, draw.stalls(design))


@pytest.mark.parametrize("seed", some_slow(range(12), 3))
def test_slices_become_the_elements_that_they_were(seed: int) -> None:
    draw = Draw([seed, 9])
    lanes = draw.one((1, 2, 3, 4))
    channels = (
        draw.channel("x", 2, lanes=1),
        draw.channel("slices", 2, lanes=lanes + 1),
        draw.channel("y", 2, lanes=1),
    )
    units = (
        source("x"),
        row("join", JoinLanes(8, counts=True), ["x"], ["slices"]),
        row("dut", SplitLanes(8), ["slices"], ["y"]),
        sink("y"),
    )
    design = Design("both", lanes, Bus(), units, channels)
    rows = to_beats(each_row(drawn_rows(draw), elements), 2)
    verify(design, {"s_x": rows}, {"d_y": rows}, draw.stalls(design))


@pytest.mark.parametrize(
    ("unit", "x", "message"),
    [
        (JoinLanes(8), (1, 8, 0), "join_lanes dut: x must have rows"),
        (JoinLanes(1, counts=True), (1, 1, 2), "join_lanes dut: 1 bits can't count 4 elements"),
        (SplitLanes(8), (5, 8, 0), "split_lanes dut: x must have rows"),
        (SplitLanes(8), (4, 8, 2), "split_lanes dut: x must be of rank 2 with 5 lanes of 8 bits"),
    ],
)
def test_what_can_not_be_built(unit, x, message: str) -> None:
    with pytest.raises(StepError, match=message):
        lone(unit, [Channel("x", *x)], [Channel("y", 1, 8, 2)], lanes=4)
