"""Elements of chunks are counted, in model and circuit."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import Draw, to_beats, verify
from harness import check, lone
from seeds import some_slow

import stepgen as sg
from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.table import Channel
from stepgen.hw.units.count.params import Count
from stepgen.ir.errors import StepError


def counted(nested, depth, rank, start, bits):
    """Numbers of the leaves of chunks, which are `depth` lists deep and have `rank` dims."""
    if depth:
        return [counted(item, depth - 1, rank, start, bits) for item in nested]
    return number(start + leaves(nested, rank), bits)


def leaves(nested, rank):
    return sum(leaves(item, rank - 1) for item in nested) if rank else 1


def running(nested, depth, rank, start, bits):
    """The same, with the number up to each leaf."""
    if depth:
        return [running(item, depth - 1, rank, start, bits) for item in nested]
    so_far = start

    def each(item, rank):
        nonlocal so_far
        if rank:
            return [each(i, rank - 1) for i in item]
        so_far += 1
        return number(so_far, bits)

    return each(nested, rank)


def number(n, bits):
    return np.array([min(n, (1 << bits) - 1)], np.uint64)


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("tiles", [False, True])
@pytest.mark.parametrize("seed", some_slow(range(10), 2))
def test_elements_are_counted(seed, tiles, every):
    draw = Draw([seed, tiles, every])
    rank, outer, bits = draw.one((1, 2)), draw.one((0, 1)), draw.one((3, 32))
    start, base = draw.one((0, 5)), 2 if tiles else 0
    depth = outer + 1

    def drawn():
        return draw.tile(draw.one((0, 1, 3)), 2) if tiles else np.array([draw.rng.integers(9)])

    nested = draw.nested([(0, 1, 2, 5)] * (depth + rank), drawn)
    wire = depth - 1 + rank + base
    given = to_beats(nested, wire, np.int8 if tiles else np.uint64)
    due = (running if every else counted)(nested, depth, rank, start, bits)
    out = outer + rank * every
    x = {} if tiles else {"lanes": 1, "bits": 9}
    if tiles and draw.one((False, True)):
        x = {"lanes": 0, "bits": 0}
    design = lone(
        Count(base, base + rank, start, every),
        [draw.channel("x", wire, **x)],
        [draw.channel("y", out, lanes=1, bits=bits)],
    )
    verify(design, {"s_x": given}, {"d_y": to_beats(due, out, np.uint64)}, draw.stalls(design))


def test_a_row_is_placed_where_a_count_says():
    """The count of each group begins anew; when the row is taken depends on it."""
    g, sizes = sg.Graph("appended"), [1, 0, 4, 2]
    groups = g.input("groups", sg.int8[2, 2], (len(sizes), sg.ragged("N", bound=4)))
    x = g.input("x", sg.int8[5, 4], (len(sizes),))
    row = g.input("row", sg.int8[1, 4], (len(sizes),))
    g.output(x.map(sg.fn.place_row(), row, groups.accum(sg.fn.count(), rank=1)), "y")
    inputs = {
        "groups": [np.ones((n, 2, 2), np.int8) for n in sizes],
        "x": np.zeros((len(sizes), 5, 4), np.int8),
        "row": np.ones((len(sizes), 1, 4), np.int8),
    }
    run = Experiment(g, inputs, lanes=2)
    check(run.design, run.beats, {"y": run.reference.beats("y", 2)}, None)


@pytest.mark.parametrize(
    ("unit", "y", "message"),
    [
        (Count(2, 2, 0, False), (1, 4, 1), "the levels 2 and 2 must be within 0..3"),
        (Count(2, 4, 0, False), (1, 4, 1), "the levels 2 and 4 must be within 0..3"),
        (Count(2, 3, 15, False), (1, 4, 0), "4 bits can't count from 15 on"),
        (Count(2, 3, 0, False), (1, 4, 1), "y must be of rank 0 with 1 lane of 4 bits, not of"),
        (Count(2, 3, 0, True), (1, 4, 0), "y must be of rank 1 with 1 lane of 4 bits, not of"),
    ],
)
def test_what_can_not_be_built(unit, y, message):
    with pytest.raises(StepError, match=f"^design lone: count dut: {message}"):
        lone(unit, [Channel("x", 2, 8, 3)], [Channel("y", *y)])
