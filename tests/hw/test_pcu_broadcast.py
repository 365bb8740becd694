"""Operands of the PCU that are broadcast: rows, columns and elements of whole tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from drawn import raises_error
from harness import beats, check, lone
from seeds import one_seed_each

import stepgen as sg
from stepgen.cosim.experiment import Experiment
from stepgen.hw.arithmetic.operations import Operation
from stepgen.hw.design.table import Channel
from stepgen.hw.units.pcu.params import Pcu
from stepgen.ir.errors import StepError
from stepgen.ir.stalls import Stalls
from stepgen.timing.model import predict

LANES = 2
SUB = (Operation("subtract", (0, 1), "int8"),)
WIDE = Channel("y", LANES, 8, 3, depth=12, delay=1)


def drawn(rng: np.random.Generator, sides: tuple[str, str], columns: int) -> tuple[Any, ...]:
    """A program of one function of two operands, and its inputs; each side is what it has of RC."""
    kind = rng.choice(["static", "dynamic", "ragged"])
    count, most = int(rng.integers(0, 5)), 4
    extents = np.full(count, rng.integers(0, most + 1))
    if kind == "ragged":
        extents = rng.integers(0, most + 1, count)
    rows: Any = int(rng.integers(1, 4))
    extents = np.full(count, rows) if kind == "static" else extents
    if kind != "static":
        rows = getattr(sg, str(kind))("R", bound=most)
    g = sg.Graph("broadcast")
    inputs, streams = {}, []
    for name, side in zip("ab", sides, strict=True):
        cols = columns if "C" in side else 1
        tile = sg.Tile(rows if "R" in side else 1, cols, sg.int8)
        streams.append(g.input(name, tile, (sg.dynamic("N", bound=5),)))
        sizes = [(int(n) if "R" in side else 1, cols) for n in extents]
        inputs[name] = [rng.integers(-128, 128, size).astype(np.int8) for size in sizes]
    g.output(streams[0].map(sg.fn.sub(), streams[1]), "y")
    return g, inputs


@pytest.mark.parametrize(
    ("columns", "seed", "sides"),
    one_seed_each(
        (2 * LANES + 1, LANES, LANES - 1),
        range(4),
        [("RC", side) for side in ("R", "C", "")]
        + [(side, "RC") for side in ("R", "C", "")]
        + [("R", "C"), ("C", "R"), ("R", ""), ("", "C")],
    ),
)
def test_rows_columns_and_elements(sides, columns, seed):
    rng = np.random.default_rng([seed, columns])
    graph, inputs = drawn(rng, sides, columns)
    stalls = Stalls(seed, {name: float(rng.choice([0, 0.3, 0.7])) for name in "aby"})
    depths = {name: 2 + int(rng.choice([0, 1, 70])) for name in "ab"}
    experiment = Experiment(graph, inputs, lanes=LANES, depths=depths, stalls=stalls)
    expected = {"y": experiment.reference.beats("y", LANES)}
    check(experiment.design, experiment.beats, expected, stalls, aborts=[int(rng.integers(20))])


@pytest.mark.parametrize("sides", [("RC", "R"), ("RC", "C"), ("RC", ""), ("R", "C")])
def test_a_result_per_cycle_across_rows_and_tiles(sides):
    tiles, rows, columns = 6, 3, 5 * LANES
    g = sg.Graph("rate")
    streams, inputs = [], {}
    for name, side in zip("ab", sides, strict=True):
        size = rows if "R" in side else 1, columns if "C" in side else 1
        streams.append(g.input(name, sg.Tile(*size, sg.int8), (tiles,)))
        inputs[name] = np.ones((tiles, *size), np.int8)
    g.output(streams[0].map(sg.fn.add(), streams[1]), "y")
    experiment = Experiment(g, inputs, lanes=LANES)
    pushes = predict(experiment.design, experiment.beats).pushes["map_0"]
    assert np.diff(pushes).tolist() == [1] * (tiles * rows * 5)


def test_a_column_along_rows():
    g = sg.Graph("along")
    x = g.input("x", sg.Tile(sg.ragged("R", bound=3), 1, sg.bf16), (4,))
    for columns in (1, LANES, 2 * LANES + 1):
        g.output(x.map(sg.fn.row_broadcast(columns)), f"y{columns}")
    inputs = {"x": [np.arange(n).reshape(n, 1).astype(np.float32) for n in (2, 0, 3, 1)]}
    experiment = Experiment(g, inputs, lanes=LANES)
    names = [f"y{columns}" for columns in (1, LANES, 2 * LANES + 1)]
    expected = {name: experiment.reference.beats(name, LANES) for name in names}
    check(experiment.design, experiment.beats, expected)


ROW = [([1, 2], 0), ([3, 4], 0), ([5, 6], 3)]
TILE = [([1, 2], 0), ([3, 4], 0), ([5, 6], 1), ([1, 2], 0), ([3, 4], 0), ([5, 6], 3)]
COLUMN = [([1, 0], 1), ([2, 0], 3)]
ONE = [([7, 0], 3)]
EMPTY = [("bare", 2, 3)]
GROUP = [("bare", 3, 3)]


@pytest.mark.parametrize(
    ("broadcast", "a", "b", "wrong"),
    [
        (("", "rows"), TILE, ROW, False),
        (("", "rows"), EMPTY, ROW, False),
        (("", "rows"), GROUP, GROUP, False),
        (("", "rows"), TILE, [*ROW[:2], ([5, 6], 2)], True),
        (("", "rows"), EMPTY, [*ROW[:2], ([5, 6], 2)], True),
        (("", "rows"), TILE, [([1, 2], 0), ([3, 4], 2), ([5, 6], 3)], True),
        (("", "rows"), EMPTY, [([1, 2], 0), ([3, 4], 2), ([5, 6], 3)], True),
        (("", "rows"), TILE, [([1, 2], 0), ([3, 4], 0), ([5, 6], 1)], True),
        (("", "rows"), [([1, 2], 0), ([3, 4], 1), *TILE[2:]], ROW, True),
        (("", "rows"), [*TILE[:5], ([5, 6], 2)], ROW, True),
        (("", "rows"), GROUP, ROW, True),
        (("", "rows"), TILE, GROUP, True),
        (("", "cols"), TILE, COLUMN, False),
        (("", "cols"), EMPTY, EMPTY, False),
        (("", "cols"), TILE, [([1, 0], 1), ([2, 0], 2)], True),
        (("", "cols"), TILE, [([1, 0], 2), ([2, 0], 3)], True),
        (("", "cols"), EMPTY, COLUMN, True),
        (("cols", "rows"), COLUMN, ROW, False),
        (("cols", "rows"), COLUMN, [*ROW[:2], ([5, 6], 2)], True),
        (("cols", ""), COLUMN, TILE, False),
        (("cols", ""), COLUMN, [*TILE[:2], ([5, 6], 2), *TILE[3:]], True),
        (("cols", ""), COLUMN, [([1, 2], 1), *TILE[1:]], True),
        (("", "both"), TILE, ONE, False),
        (("", "both"), EMPTY, ONE, False),
        (("", "both"), TILE, [([7, 0], 2)], True),
        (("", "both"), EMPTY, [([7, 0], 2)], True),
        (("", "both"), TILE, GROUP, True),
    ],
)
def test_beats_that_do_not_fit_are_an_error(broadcast, a, b, wrong):
    """Types rule it out, so the streams are given to the circuit alone."""
    params = Pcu(("int8", "int8"), SUB, broadcast, slices=3)
    channels = [Channel(name, LANES, 8, 3) for name in "ab"]
    y = Channel("y", LANES, 8, 3, depth=12, delay=params.delay(LANES))
    design = lone(params, channels, [y], lanes=LANES)
    inputs = {"s_a": beats(a, LANES), "s_b": beats(b, LANES)}
    assert raises_error(design, inputs, limit=60) is wrong


@pytest.mark.parametrize(
    ("broadcast", "slices", "message"),
    [
        (("", "cols", ""), 2, "2 operands can't be broadcast by no, cols, no"),
        (("rows", "both"), 2, "2 operands can't be broadcast by rows, both"),
        (("", "rows"), 0, "a row must have at least 1 beat, not 0"),
        (("", "rows"), 2, "y must be of rank 3 with 2 lanes of 8 bits 3 cycles late, not of rank"),
    ],
)
def test_what_can_not_be_built(broadcast, slices, message):
    params = Pcu(("int8", "int8"), SUB, broadcast, slices)
    channels = [Channel(name, LANES, 8, 3) for name in "ab"]
    with pytest.raises(StepError, match=f"^design lone: pcu dut: {message}"):
        lone(params, channels, [WIDE], lanes=LANES)
