"""Rows of flags become selectors, and selectors rows of flags, in model and circuit."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import LANES, Draw, raises_error, to_beats, verify
from harness import beats, lone
from hw.test_rows import beats as beats_of_rows
from hw.test_rows import channel, mapped
from seeds import some_slow

import stepgen as sg
from stepgen.hw.design.table import Channel
from stepgen.hw.units.as_selector.params import AsSelector
from stepgen.ir.errors import StepError
from stepgen.ir.setting import Setting
from stepgen.timing.model import predict

BOOL = np.dtype(bool)


def bits_of(flags: np.ndarray, otherwise: bool) -> np.ndarray:
    """The bits of a selector, one by one."""
    bits = [bool(flag) for flag in flags]
    return np.array([*bits, True not in bits] if otherwise else bits)


@pytest.mark.parametrize("otherwise", [False, True])
@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("seed", some_slow(range(8), 2))
def test_flags_become_selectors_and_back(seed, back, otherwise):
    draw = Draw([seed, back, otherwise])
    columns, share = draw.one((2, 3, 4, 5, 7)), draw.one((0.1, 0.5))
    fn = sg.fn.as_flags() if back else sg.fn.as_selector(otherwise)
    bits = columns + (otherwise and not back)
    row, selector = sg.bool_[1, columns], sg.Selector(bits)
    x, y = (selector, row) if back else (row, selector)
    unit, at = fn.unit(LANES, [x, y], [False]), Setting(y, BOOL, LANES)
    outer = [draw.one(((0,), (1, 3), (4,))), *[(0, 1, 2)] * draw.one((0, 1))]
    rank = len(outer) - 1
    given = draw.nested(outer, lambda: draw.flags(columns, share))

    def made(flags: np.ndarray) -> np.ndarray:
        found = fn.compute(at, flags if back else flags[None])
        due = flags if back else bits_of(flags, otherwise)
        np.testing.assert_array_equal(found[0] if back else found, due)
        return due

    rows = mapped(given, rank + 1, lambda flags: beats_of_rows(draw, flags[None]))
    flat = Channel(
        "y" if not back else "x", bits, 1, rank, draw.channel("y", rank).depth, 0, "bool"
    )
    tiled = channel(draw, "y" if back else "x", rank + 2, row)
    single = to_beats(mapped(given, rank + 1, made), rank, bool)
    tiles = to_beats(rows, rank + 2, bool)
    design = lone(unit, [flat if back else tiled], [tiled if back else flat])
    sent, due = (single, tiles) if back else (tiles, single)
    verify(design, {"s_x": sent}, {"d_y": due}, draw.stalls(design))


def test_a_beat_per_cycle():
    design = lone(AsSelector(5), [Channel("x", 2, 1, 2, 9)], [Channel("y", 5, 1, 0, 9)], lanes=2)
    x = beats([([1, 0], 0), ([0, 0], 0), ([1, 0], 2)] * 4, 2, bool)
    y = beats([([1, 0, 0, 0, 1], 0)] * 4, 5, bool)
    pushes = predict(design, {"s_x": x, "dut": y}).pushes["y"]
    assert set(np.diff(pushes[:-1]).tolist()) == {3}


@pytest.mark.parametrize(
    ("x", "wrong"),
    [
        ([([1, 0], 0), ([0, 0], 2)], False),
        ([([1, 0], 2), ([0, 0], 2)], True),
        ([([1, 0], 0), ([0, 0], 1)], True),
        ([("bare", 2, 2)], True),
    ],
)
def test_other_rows_are_an_error(x, wrong):
    """Types rule it out, so the stream is given to the circuit alone."""
    design = lone(AsSelector(3), [Channel("x", 2, 1, 2)], [Channel("y", 3, 1, 0)])
    assert raises_error(design, {"s_x": beats(x, 2, bool)}, limit=40) is wrong


@pytest.mark.parametrize(
    ("unit", "x", "y", "message"),
    [
        (AsSelector(0), (2, 1, 2), (1, 1, 0), "a row needs at least 1 flag, not 0"),
        (AsSelector(3), (2, 1, 1), (3, 1, 0), "x must have tiles"),
        (AsSelector(3), (2, 8, 2), (3, 1, 0), "x must be of rank 2 with 2 lanes of 1 bit"),
        (AsSelector(3, True), (2, 1, 2), (3, 1, 0), "y must be of rank 0 with 4 lanes of 1 bit"),
    ],
)
def test_what_can_not_be_built(unit, x, y, message):
    with pytest.raises(StepError, match=f"^design lone: as_selector dut: {message}"):
        lone(unit, [Channel("x", *x)], [Channel("y", *y)])
