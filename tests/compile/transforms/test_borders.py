"""Drawn programs: which requests can be processed one by one, and which can't."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from same import check_same
from seeds import some_slow

import stepgen as sg
from stepgen.compile.transforms import parallelize
from stepgen.ir.errors import StepError

fn = sg.fn
REQUESTS, ROWS = 6, 4

Step = Callable[[sg.Stream, sg.Stream], sg.Stream]
"""From rows ``[REQUESTS, ROWS]`` and selectors of this shape to rows of this shape."""

APART: dict[str, Step] = {
    "each row": lambda x, _: x.map(fn.offset(1)),
    "rows of a request": lambda x, _: (
        x.accum(fn.retile_row(), rank=1)
        .map(fn.offset(2))
        .promote(level=0)
        .flat_map(fn.retile_streamify("row"), rank=1)
        .flatten(1, 2)
    ),
    "sums of a request": lambda x, _: (
        x.accum(fn.add(), rank=1, init=0).promote(level=0).expand(x, rank=1)
    ),
    "joined and split": lambda x, _: x.flatten(0, 1).map(fn.offset(3)).reshape(chunk=ROWS)[0],
    "split and joined": lambda x, _: x.reshape(chunk=2)[0].map(fn.offset(1)).flatten(0, 1),
    "halves": lambda x, _: (
        x.flatten(0, 1).reshape(chunk=2)[0].map(fn.offset(1)).flatten(0, 1).reshape(chunk=ROWS)[0]
    ),
    "routed": lambda x, route: _routed(x, route),
    "buffered": lambda x, _: x.bufferize(rank=1).streamify(),
    "within": lambda x, _: x.promote(level=1).scan(fn.add(), rank=2, init=0).flatten(1, 2),
}
WAITING: dict[str, Step] = {
    "packed": lambda x, _: (
        x.flatten(0, 1)
        .promote()
        .accum(fn.retile_row(), rank=1)
        .flat_map(fn.retile_streamify("row"), rank=0)
        .reshape(chunk=ROWS)[0]
    ),
    "one group": lambda x, _: x.promote().flatten(1, 2),
    "two requests": lambda x, _: x.reshape(dim=1, chunk=2).flatten(1, 2),
    "in a buffer": lambda x, _: x.promote().bufferize(rank=2).streamify().flatten(1, 2),
}
MIXING: dict[str, Step] = {
    "running sum": lambda x, _: x.promote().scan(fn.add(), rank=2, init=0).flatten(1, 2),
}


def _routed(x: sg.Stream, route: sg.Stream) -> sg.Stream:
    left, right = x.partition(route, rank=0)
    return sg.reassemble([left.map(fn.offset(1)), right], route, rank=0).flatten(0, 1)


def program(steps: list[Step]) -> tuple[sg.Graph, dict[str, Any]]:
    """Rows of requests through all steps."""
    rng = np.random.default_rng(len(steps))
    g = sg.Graph("requests")
    x = g.input("x", sg.int8[1, 4], (REQUESTS, ROWS))
    route = g.input("route", sg.Selector(2, hot=1), (REQUESTS, ROWS))
    y = x
    for step in steps:
        y = step(y, route)
    g.output(y, "y")
    g.output(route, "route_out")
    chosen = np.eye(2, dtype=bool)[rng.integers(0, 2, (REQUESTS, ROWS))]
    return g, {"x": rng.integers(-9, 9, (REQUESTS, ROWS, 1, 4)), "route": chosen}


@pytest.mark.parametrize("seed", some_slow(range(24), 8))
def test_requests_are_distinguished(seed):
    rng = np.random.default_rng(seed)
    drawn = [str(name) for name in rng.choice(list(APART), rng.integers(1, 5))]
    old, inputs = program([APART[name] for name in drawn])
    for how in ("dynamic", "interleaved"):
        check_same(old, parallelize(old, regions=2, how=how), inputs)


@pytest.mark.parametrize("name", WAITING)
@pytest.mark.parametrize("seed", range(3))
def test_waiting_for_later_requests_is_refused_when_they_come_one_by_one(name, seed):
    rng = np.random.default_rng(seed)
    steps = [APART[str(each)] for each in rng.choice(list(APART), seed)]
    steps.insert(int(rng.integers(0, seed + 1)), WAITING[name])
    old, inputs = program(steps)
    with pytest.raises(StepError, match=r"several requests|one group of all requests"):
        parallelize(old, regions=2)
    check_same(old, parallelize(old, regions=3, how="coarse"), inputs)


@pytest.mark.parametrize("how", ["dynamic", "coarse", "interleaved"])
@pytest.mark.parametrize("name", MIXING)
def test_results_that_depend_on_other_requests_are_refused(name, how):
    old, _ = program([APART["each row"], MIXING[name]])
    with pytest.raises(
        StepError, match=r"scan_\d at test_borders.py:\d+ computes add\(\) over sev"
    ):
        parallelize(old, regions=2, how=how)
