"""The largest elements of rows, against the golden model and an order of bit patterns."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import LANES, Draw, raises_error, to_beats, verify
from harness import beats, lone
from hw.test_rows import ELEMENTS, channel, mapped, values
from hw.test_rows import beats as beats_of_rows
from seeds import one_seed_each

import stepgen as sg
from stepgen.hw.design.table import Channel
from stepgen.hw.units.top_k.params import TopK
from stepgen.ir.errors import StepError
from stepgen.ir.setting import Setting
from stepgen.semantics import numbers
from stepgen.timing.model import predict


def row(draw: Draw, element: sg.ElementType, columns: int) -> np.ndarray:
    """A row, in which elements often are equal."""
    x = values(draw, element, 1, columns)
    return draw.rng.choice(x[0], (1, columns)) if draw.one((0, 1)) else x


def order(x: np.generic) -> int:
    """A number in the order of elements, from the bit pattern of one."""
    if np.issubdtype(x.dtype, np.integer):
        return int(x)
    if np.isnan(x):
        return -(1 << 40)
    bits = int(x.view(f"u{x.itemsize}"))
    sign, magnitude = bits >> 8 * x.itemsize - 1, bits & (1 << 8 * x.itemsize - 1) - 1
    return -1 - magnitude if sign else magnitude


@pytest.mark.parametrize(
    ("seed", "name", "scores"), one_seed_each(range(6), ELEMENTS, (False, True))
)
def test_the_largest_are_chosen(seed, name, scores):
    draw, element = Draw([seed, scores]), ELEMENTS[name]
    columns = draw.one((1, 2, 3, 4, 5, 7, 8, 11))
    k = draw.one(range(1, columns + 1))
    fn = sg.fn.top_k_scores(k) if scores else sg.fn.top_k(k)
    x = sg.Tile(1, columns, element)
    y = sg.Tile(1, k, element) if scores else sg.Selector(columns, hot=k)
    unit = fn.unit(LANES, [x, y], [False])
    outer = [draw.one(((0,), (1, 3), (4,))), *[(0, 1, 2)] * draw.one((0, 1))]
    rows = draw.nested(outer, lambda: row(draw, element, columns))
    at = Setting(y, numbers.DTYPES[name if scores else "bool"], LANES)
    depth = len(outer)
    rank = 1 + depth

    def chosen(tile: np.ndarray) -> np.ndarray:
        found = fn.compute(at, tile)
        first = sorted(range(columns), key=lambda n: (-order(tile[0, n]), n))[:k]
        bits = np.isin(np.arange(columns), first)
        expected = tile[:, bits] if scores else bits
        np.testing.assert_array_equal(found.astype(float), expected.astype(float))
        return beats_of_rows(draw, found) if scores else found

    given = mapped(rows, depth, lambda tile: beats_of_rows(draw, tile))
    tail = unit.delay(LANES)
    out = channel(draw, "y", rank, y, tail) if scores else None
    if out is None:
        own = draw.channel("y", rank - 2, lanes=columns, bits=1, delay=tail)
        out = Channel("y", columns, 1, rank - 2, own.depth, tail, "bool")
    design = lone(unit, [channel(draw, "x", rank, x)], [out], lanes=LANES)
    due = mapped(rows, depth, chosen)
    verify(
        design,
        {"s_x": to_beats(given, rank, numbers.DTYPES[name])},
        {"d_y": to_beats(due, rank if scores else rank - 2, at.dtype)},
        draw.stalls(design),
    )


@pytest.mark.parametrize("scores", [False, True])
def test_an_element_per_cycle_and_a_cycle_for_each_further_beat(scores):
    columns, k = 7, 2 * LANES + 1
    columns = max(columns, k)
    unit = TopK("int8", columns, k, scores)
    y = Channel("y", LANES, 8, 2, 9, 4) if scores else Channel("y", columns, 1, 0, 9, 4)
    design = lone(unit, [Channel("x", LANES, 8, 2, 9)], [y], lanes=LANES)
    one = [([0] * LANES, 0)] * (-(-columns // LANES) - 1) + [([0] * LANES, 2)]
    inputs = {"s_x": beats(one * 4, LANES), "dut": beats([([1] * columns, 0)] * 4, columns, bool)}
    pushes = predict(design, inputs).pushes["y"][:-1]
    more = -(-k // LANES) - 1 if scores else 0
    ends = pushes[more :: more + 1]
    assert set(np.diff(ends).tolist()) == {columns + more}


def test_what_is_chosen_must_be_given():
    design = lone(TopK("int8", 2, 1, False), [Channel("x", 2, 8, 2)], [Channel("y", 2, 1, 0, 6, 4)])
    with pytest.raises(StepError, match="what dut makes of data: it must be given"):
        predict(design, {"s_x": beats([], 2)})


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
    unit = TopK("int8", 3, 1, True)
    design = lone(unit, [Channel("x", 2, 8, 2)], [Channel("y", 2, 8, 2, 8, 4)])
    assert raises_error(design, {"s_x": beats(x, 2)}, limit=60) is wrong


@pytest.mark.parametrize(
    ("unit", "y", "message"),
    [
        (TopK("int8", 3, 4, True), (2, 8, 2), "4 of 3 elements can't be chosen"),
        (TopK("int8", 3, 0, True), (2, 8, 2), "0 of 3 elements can't be chosen"),
        (TopK("bool", 3, 1, True), (2, 8, 2), "bool is not a type of numbers"),
        (TopK("int32", 3, 1, True), (2, 32, 2), "x must carry int32, not int8"),
        (TopK("int8", 3, 1, True), (2, 8, 0), "y must be of rank 2 with 2 lanes of 8 bits 4 cycle"),
        (TopK("int8", 3, 1, False), (2, 1, 0), "y must be of rank 0 with 3 lanes of 1 bit 4 cycle"),
    ],
)
def test_what_can_not_be_built(unit, y, message):
    x = Channel("x", 2, 8, 2, element="int8")
    with pytest.raises(StepError, match=f"^design lone: top_k dut: {message}"):
        lone(unit, [x], [Channel("y", *y, delay=4)])
