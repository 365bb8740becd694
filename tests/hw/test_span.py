"""Ranges of addresses become groups of these, or of selectors, in model and circuit."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import Draw, raises_error, to_beats, verify
from harness import beats, lone
from seeds import some_slow

from stepgen.hw.design.table import Channel
from stepgen.hw.units.span.params import SELECTORS, Span
from stepgen.ir.errors import StepError
from stepgen.ir.stalls import Stalls
from stepgen.timing.model import Fault, predict

MAKES = ("all", "first", "last", "end")


def outputs(makes: str, bits: int, rank: int) -> dict:
    """Format of what is made of ranges of a rank."""
    lanes, width = (2, 1) if makes in SELECTORS else (1, bits)
    return {"rank": rank + (makes != "end"), "lanes": lanes, "bits": width}


def made(makes: str, start: int, length: int, bits: int):
    """What a range becomes: numbers beyond the wire are all ones."""
    numbers = [np.array([min(start + n, (1 << bits) - 1)], np.uint64) for n in range(length)]
    if makes == "end":
        return numbers[-1]
    if makes == "all":
        return numbers
    special = 0 if makes == "first" else length - 1
    return [np.array([n == special, n != special]) for n in range(length)]


def through(nested, depth, change):
    return [through(i, depth - 1, change) for i in nested] if depth else change(nested)


@pytest.mark.parametrize("makes", MAKES)
@pytest.mark.parametrize("seed", some_slow(range(10), 3))
def test_what_a_range_becomes(seed, makes):
    draw = Draw([seed, MAKES.index(makes)])
    bits, rank, most = draw.one((4, 5, 32)), draw.one((0, 1, 2)), draw.one((None, 1, 3, 9))
    unit = Span(makes, most, draw.one((False, True)))

    def drawn():
        longest = min(unit.longest(bits), draw.one((1, 2, 9)))
        start = draw.rng.integers(0, 1 << draw.one((2, bits)))
        return np.array([start, draw.rng.integers(unit.least, longest + 1)], np.uint64)

    nested = draw.nested([(0, 1, 2, 5)] * (rank + 1), drawn)
    due = through(nested, rank + 1, lambda r: made(makes, int(r[0]), int(r[1]), bits))
    out = outputs(makes, bits, rank)
    design = lone(unit, [draw.channel("x", rank, lanes=2, bits=bits)], [draw.channel("y", **out)])
    dtype = bool if makes in SELECTORS else np.uint64
    verify(
        design,
        {"s_x": to_beats(nested, rank, np.uint64)},
        {"d_y": to_beats(due, out["rank"], dtype)},
        draw.stalls(design),
    )


def test_an_empty_range_becomes_an_empty_group():
    design = lone(Span("all"), [Channel("x", 2, 4, 0)], [Channel("y", 1, 4, 1)])
    ranges, groups = [[3, 0], [5, 2], [7, 0]], [[], [[5], [6]], []]
    given, due = (to_beats(of, n, np.uint64) for n, of in enumerate((ranges, groups)))
    verify(design, {"s_x": given}, {"d_y": due}, Stalls())


@pytest.mark.parametrize("makes", MAKES)
@pytest.mark.parametrize(
    ("most", "length", "wrong"),
    [(3, 3, False), (3, 4, True), (None, 14, False), (None, 15, True), (20, 15, True)],
)
def test_a_range_that_is_too_long_stops_the_unit(makes, most, length, wrong):
    unit, out = Span(makes, most), outputs(makes, 4, 0)
    channels = [Channel("x", 2, 4, 0)], [Channel("y", depth=9, **out)]
    design = lone(unit, *channels)
    stream = {"s_x": beats([([0, 1], 0), ([0, length], 0)], 2, np.uint64)}
    assert raises_error(design, stream) is wrong
    if wrong:
        message = f"dut gets a range of {length} addresses, and takes {unit.least} to "
        with pytest.raises(Fault, match=message):
            predict(design, stream)


@pytest.mark.parametrize(("makes", "positive"), [*((m, False) for m in MAKES), ("all", True)])
def test_an_empty_range_stops_what_needs_an_address(makes, positive):
    unit, out = Span(makes, None, positive), outputs(makes, 4, 0)
    design = lone(unit, [Channel("x", 2, 4, 0)], [Channel("y", **out)])
    stream = {"s_x": beats([([3, 0], 0)], 2, np.uint64)}
    assert raises_error(design, stream) is (positive or makes != "all")
    if positive:
        with pytest.raises(Fault, match="dut gets a range of 0 addresses, and takes 1 to 14"):
            predict(design, stream)


@pytest.mark.parametrize(
    ("unit", "x", "y", "message"),
    [
        (Span("all", 0), (2, 4, 0), (1, 4, 1), "the longest range must be at least 1 long, not 0"),
        (Span("all"), (2, 0, 0), (1, 4, 1), "x must carry ranges"),
        (Span("all"), (1, 4, 0), (1, 4, 1), "x must be of rank 0 with 2 lanes of 4 bits, not of"),
        (Span("all"), (2, 4, 0), (1, 4, 0), "y must be of rank 1 with 1 lane of 4 bits, not of"),
        (Span("end"), (2, 4, 0), (1, 4, 1), "y must be of rank 0 with 1 lane of 4 bits, not of"),
        (Span("last"), (2, 4, 0), (1, 4, 1), "y must be of rank 1 with 2 lanes of 1 bit, not of"),
    ],
)
def test_what_can_not_be_built(unit, x, y, message):
    with pytest.raises(StepError, match=f"^design lone: span dut: {message}"):
        lone(unit, [Channel("x", *x)], [Channel("y", *y)])
