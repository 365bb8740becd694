"""Accesses of one tensor in drawn programs: a circuit waits for all that its reference does."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment, simulate
from stepgen.ir.stalls import Stalls
from stepgen.semantics.executor import run

COLS, ROWS = 64, 4
"""Of a tile; each of its rows is a burst of its own."""

FIRST = ("tile", "rows", "acks")
BETWEEN = ("cut", "cut", "offset", "shift", "fold", "repeat", "twice", "rejoin")
LAST = ("pass", "store")


def first(g: sg.Graph, kept: sg.Tensor, kind: str) -> sg.Stream:
    """Tiles that tell of accesses: loaded ones, or rows of what is loaded or acknowledged."""
    if kind == "tile":
        at = g.input("at", sg.address[1, 1], (2,))
        return at.random_offchip_load(kept, tile=(ROWS, COLS), name="before")
    at = g.input("at", sg.address[1, 1], (1, ROWS))
    if kind == "rows":
        rows = at.random_offchip_load(kept, tile=(1, COLS), name="before")
    else:
        x = g.input("x", sg.int8[1, COLS], (1, ROWS))
        stored = at.random_offchip_store(x, kept, tile=(1, COLS), name="before")
        rows = stored.map(sg.fn.convert(sg.int8)).map(sg.fn.row_broadcast(COLS))
    return rows.accum(sg.fn.retile_row(), rank=1)


def between(g: sg.Graph, x: sg.Stream, kind: str, n: int) -> sg.Stream:
    """Something that passes on what they tell."""
    if kind == "cut":
        return x.flat_map(sg.fn.retile_streamify("row"), rank=0)
    if kind == "offset":
        return x.map(sg.fn.offset(n + 1))
    if kind == "shift":
        return x.map(sg.fn.shift_cols(5, 1))
    if kind == "fold":
        return x.promote(0).accum(sg.fn.maximum(), rank=1)
    if kind == "twice":
        return x.promote(0).expand(count=2).flatten(0, 1)
    if kind == "rejoin":
        rows = x.flat_map(sg.fn.retile_streamify("row"), rank=1)
        return rows.accum(sg.fn.retile_row(), rank=1)
    again = g.input(f"again{n}", sg.int8[1, COLS], extents(x))
    return again.promote(0).expand(x.promote(0)).flatten(0, 1)


def last(g: sg.Graph, kept: sg.Tensor, x: sg.Stream, kind: str) -> None:
    """An access behind them."""
    if kind == "pass":
        y = sg.linear_offchip_load(kept, tile=(1, COLS), shape=(8,), stride=(1,), ref=x)
    else:
        rows = x.dtype.rows.static
        to = g.input("to", sg.address[1, 1], extents(x))
        y = to.random_offchip_store(x, kept, tile=(rows, COLS), name="after")
    g.output(y, "y")


def extents(x: sg.Stream) -> tuple[int, ...]:
    """Of a stream, outermost first."""
    return tuple(dim.static for dim in x.shape)


def drawn(seed: int) -> tuple[sg.Graph, dict[str, Any]]:
    """A program and inputs with which its reference does not refuse it."""
    rng = np.random.default_rng(seed)
    while True:
        g = sg.Graph("order")
        kept = g.tensor("kept", (3 * ROWS, COLS), sg.int8)
        x = first(g, kept, FIRST[seed % len(FIRST)])
        for n in range(int(rng.integers(3))):
            x = between(g, x, str(rng.choice(BETWEEN)), n)
        last(g, kept, x, LAST[seed // len(FIRST) % len(LAST)])
        inputs = {"kept": rng.integers(-100, 100, kept.shape).astype(np.int8)}
        for name, stream in g.inputs.items():
            shape = (*extents(stream), *(d.static for d in stream.dtype.dims))
            high = 3 if name in ("at", "to") else 100
            inputs[name] = rng.integers(0, high, shape)
            if name in ("at", "to") and prod(shape) <= 3 * ROWS:
                tall = max(tiles(g, name))
                inputs[name] = rng.permutation(3 * ROWS // tall)[: prod(shape)]
                inputs[name] = np.resize(inputs[name], shape)
        if decided(g, inputs):
            return g, inputs


def decided(g: sg.Graph, inputs: dict[str, Any]) -> bool:
    """Whether the reference runs it."""
    try:
        run(g, inputs)
    except sg.StepError as error:
        if "order that the program does not decide" not in str(error):
            raise
        return False
    return True


def tiles(g: sg.Graph, name: str) -> list[int]:
    """Rows of the tiles that an input of addresses names."""
    return [node.attrs["tile"][0] for node, _ in g.consumers(g.inputs[name])]


def stalls(g: sg.Graph, seed: int) -> list[Stalls]:
    """One stream late at a time, and the memory."""
    late = [{name: 0.99} for name in g.inputs if not name.startswith("to")]
    return [
        Stalls(seed + n, one) for n, one in enumerate([*late, {"mem.r": 0.98}, {"mem.ar": 0.97}])
    ]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(48))
def test_a_circuit_keeps_the_order(seed: int, tmp_path: Path) -> None:
    g, inputs = drawn(seed)
    design = lower(g)
    runs = [Experiment(g, inputs, stalls=one, built=design) for one in stalls(g, seed)]
    for one, verdict in zip(
        runs, simulate(runs, tmp_path, driver="cpp", opt=LEAST_BUILD), strict=True
    ):
        assert verdict.good, (one.stalls, verdict.outcome.faults)


def test_a_tile_without_bound_can_not_leave_whole() -> None:
    g, n = sg.Graph("unbounded"), sg.ragged("n")
    kept, at = g.tensor("kept", (4, COLS), sg.int8), g.input("at", sg.address[1, 1], (1, n))
    tile = at.random_offchip_load(kept, tile=(1, COLS)).accum(sg.fn.retile_row(), rank=1)
    rows = tile.flat_map(sg.fn.retile_streamify("row"), rank=0)
    to = g.input("to", sg.address[1, 1], tuple(rows.shape))
    g.output(to.random_offchip_store(rows, kept, tile=(1, COLS)), "y")
    message = r"accum_0 at test_order.py:\d+: the number of rows of accum_0.0, which leave together"
    with pytest.raises(sg.StepError, match=message):
        lower(g)


@pytest.mark.slow
def test_addresses_that_lead_to_others_are_single_beats(tmp_path: Path) -> None:
    """They have no levels of a tile, and are whole as they are."""
    g = sg.Graph("links")
    links = g.tensor("links", (8, 1), sg.address)
    at, x = g.input("at", sg.address[1, 1], (4,)), g.input("x", sg.address[1, 1], (4,))
    place = at.random_offchip_load(links, tile=(1, 1))
    place = place.random_offchip_load(g.tensor("others", (8, 1), sg.address), tile=(1, 1))
    g.output(place.random_offchip_store(x, links, tile=(1, 1)), "y")
    inputs = {"at": [0, 1, 2, 3], "x": [7, 6, 5, 4], "links": [[4], [5], [6], [7], *[[0]] * 4]}
    inputs["others"] = [[0]] * 4 + [[7], [6], [5], [4]]
    verdict = Experiment(g, inputs).test(tmp_path, driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults
