"""Rows are traced from where they are packed, also where unrelated extents are equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from same import check_same
from seeds import some_slow

import stepgen as sg
from examples.moe import moe
from examples.moe_swiglu import moe_swiglu
from stepgen.compile.transforms import capped_tiling, dynamic_tiling, static_tiling, time_multiplex
from stepgen.ir.stream import Stream

fn = sg.fn
EXTENTS = (2, 4)
"""Few extents, so that those of rows, columns and weights are often equal."""


class Body:
    """Drawn steps on packed tiles; each step treats rows independently or mixes them."""

    def __init__(self, graph: sg.Graph, seed: int, tile: int) -> None:
        self.graph, self.tile = graph, tile
        self.rng = np.random.default_rng(seed)
        self.inputs: dict[str, Any] = {}

    def pick(self, choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def load(self, rows: int, cols: int, like: Stream) -> Stream:
        """A tile that is read once for each of the tiles of `like`."""
        name = f"w{len(self.inputs)}"
        self.inputs[name] = self.rng.integers(-2, 3, (rows, cols)).astype(np.float32)
        tensor = self.graph.tensor(name, (rows, cols), sg.f32)
        tiles = sg.linear_offchip_load(tensor, tile=(rows, cols), shape=(1,), stride=(0,), ref=like)
        return tiles.flatten(0, 1)

    def cols(self, x: Stream) -> int:
        cols = x.dtype.cols.static
        assert cols is not None
        return cols

    def bias(self, x: Stream) -> Stream:
        return x.map(fn.add(), self.load(1, self.cols(x), x))

    def weight(self, x: Stream) -> Stream:
        return x.map(fn.matmul(), self.load(self.cols(x), self.pick(EXTENTS), x))

    def turned(self, x: Stream) -> Stream:
        return x.map(fn.matmul(transpose=True), self.load(self.pick(EXTENTS), self.cols(x), x))

    def joined(self, x: Stream) -> Stream:
        return x.map(fn.sub(), x.map(fn.row_max()).map(fn.offset(1)))

    def wide(self, x: Stream) -> Stream:
        return x.promote(0).expand(count=2).accum(fn.retile_col(), rank=1)

    def summed(self, x: Stream) -> Stream:
        w = self.load(self.cols(x), self.cols(x), x).promote(0).expand(count=2)
        return x.promote(0).expand(count=2).accum(fn.matmul(), w, rank=1)

    def kept(self, x: Stream) -> Stream:
        return x.promote(0).bufferize(rank=1).streamify().flatten(0, 1)

    def mixing_places(self, x: Stream) -> Stream:
        return x.map(fn.add(), self.load(self.tile, self.cols(x), x))

    def mixing_products(self, x: Stream) -> Stream:
        return x.map(fn.matmul(transpose=True), x).map(fn.matmul(), x)

    def mixing_rows(self, x: Stream) -> Stream:
        return self.load(1, self.tile, x).map(fn.matmul(), x).map(fn.add(), x)

    ALIKE = ("bias", "weight", "turned", "joined", "wide", "summed", "kept")
    MIXING = ("mixing_products", "mixing_rows", "mixing_places")


def drawn(
    seed: int, tiling: str, mixing: str | None = None
) -> tuple[sg.Graph, dict[str, Any], int]:
    """Rows of one or several streams, tiled, through a body that the streams may share."""
    rng = np.random.default_rng(seed)
    tile, cols = (int(rng.choice(EXTENTS)) for _ in range(2))
    count = int(rng.integers(1, 4))
    shared = count > 1 and bool(rng.integers(2))
    g = sg.Graph("drawn")
    inputs: dict[str, Any] = {}
    packed, padding = [], []
    for n in range(count):
        x = g.input(f"x{n}", sg.f32[1, cols], (f"T{n}",))
        length = int(rng.integers(0, 7))
        inputs[f"x{n}"] = rng.integers(-3, 4, (length, 1, cols)).astype(np.float32)
        if tiling == "static":
            chunks, flags = x.reshape(chunk=tile, pad=0)
            padding.append(flags)
        else:
            chunks = x.promote()
            padding.append(None)
        packed.append(chunks.accum(fn.retile_row(), rank=1))
    body = Body(g, seed, tile)
    steps = [str(step) for step in rng.choice(Body.ALIKE, rng.integers(1, 4))]
    if mixing:
        steps.insert(int(rng.integers(len(steps) + 1)), mixing)

    def through(x: Stream) -> Stream:
        for step in steps:
            x = getattr(body, step)(x)
        return x

    if shared:
        tiles, names = sg.eager_merge(packed, rank=0)
        results = sg.partition(through(tiles), names, rank=0)
    else:
        results = tuple(through(x) for x in packed)
    for n, (result, flags) in enumerate(zip(results, padding, strict=True)):
        rows = result.flat_map(fn.retile_streamify("row"), rank=0, padding=flags)
        g.output(rows, f"y{n}")
    return g, inputs | body.inputs, tile


@pytest.mark.parametrize("seed", some_slow(range(60), 20))
def test_what_leaves_rows_apart_is_tiled_anew(seed: int) -> None:
    static, inputs, tile = drawn(seed, "static")
    dynamic, _, _ = drawn(seed, "dynamic")
    check_same(static, dynamic_tiling(static), inputs)
    check_same(dynamic, static_tiling(dynamic, tile=tile), inputs)
    for old in (static, dynamic):
        capped = capped_tiling(old, rows=1 + seed % 4)
        check_same(old, capped, inputs)
        check_same(old, dynamic_tiling(capped), inputs)
        check_same(old, static_tiling(capped, tile=tile), inputs)
        check_same(old, capped_tiling(capped, rows=tile), inputs)


@pytest.mark.parametrize("mixing", Body.MIXING)
@pytest.mark.parametrize("seed", range(12))
def test_what_mixes_rows_is_not(seed: int, mixing: str) -> None:
    static, _, _ = drawn(seed, "static", mixing)
    with pytest.raises(sg.StepError, match="finds no padded tiles"):
        dynamic_tiling(static)
    with pytest.raises(sg.StepError, match="capped_tiling finds no rows to tile"):
        capped_tiling(static, rows=2)
    if mixing == "mixing_products":
        dynamic, _, tile = drawn(seed, "dynamic", mixing)
        with pytest.raises(sg.StepError, match="finds no rows to tile"):
            static_tiling(dynamic, tile=tile)


SIZES = {"tokens": 11, "experts": 4, "top": 2, "width": 8, "columns": 8, "tile": 8}
PROGRAMS: dict[str, Callable[..., Any]] = {
    "moe": lambda tiling: moe(**SIZES, hidden=16, tiling=tiling),
    "moe_swiglu": lambda tiling: moe_swiglu(**SIZES, inner=16, tiling=tiling),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_layers_whose_tiles_are_as_tall_as_their_weights(program: str) -> None:
    old, inputs = PROGRAMS[program]("static")
    new = dynamic_tiling(old)
    check_same(old, new, inputs)
    again = static_tiling(new, tile=8)
    check_same(old, again, inputs)
    capped = capped_tiling(new, rows=3)
    check_same(old, capped, inputs)
    for program in (old, new, capped):
        check_same(old, time_multiplex(program, regions=2), inputs)
    shared = time_multiplex(old, regions=2)
    check_same(old, dynamic_tiling(shared), inputs)


@pytest.mark.parametrize("repeat", ["expand", "streamify"])
def test_rows_that_come_several_times_are_no_end(repeat: str) -> None:
    """All of a tile come before they come again, so their order says how many are in a tile."""
    g = sg.Graph("repeated")
    packed = g.input("x", sg.f32[1, 4], ("T",)).promote().accum(fn.retile_row(), rank=1)
    if repeat == "expand":
        copies = packed.promote(0).expand(count=3)
    else:
        copies = packed.promote(0).bufferize(rank=1).streamify(count=3).flatten(0, 1)
    g.output(copies.flat_map(fn.retile_streamify("row"), rank=0), "y")
    with pytest.raises(sg.StepError, match="finds no rows to tile"):
        capped_tiling(g, rows=2)
    by_columns, _ = moe(**SIZES | {"tile": 2}, hidden=16, results="columns")
    with pytest.raises(sg.StepError, match=r"finds no rows to tile .* in the end, once"):
        static_tiling(by_columns, tile=2)


def test_streams_that_are_packed_alike_may_be_joined() -> None:
    """Two gathers with one end: the padding of one is that of the other."""
    for tiling in ("static", "dynamic"):
        g = sg.Graph("joined")
        x, y = (g.input(name, sg.f32[1, 4], ("T",)) for name in "xy")
        if tiling == "static":
            (a, flags), (b, _) = (s.reshape(chunk=2, pad=0) for s in (x, y))
        else:
            a, b, flags = x.promote(), y.promote(), None
        left, right = (s.accum(fn.retile_row(), rank=1) for s in (a, b))
        both = left.map(fn.add(), right)
        g.output(both.flat_map(fn.retile_streamify("row"), rank=0, padding=flags), "z")
        rng = np.random.default_rng(0)
        inputs = {name: rng.integers(-3, 4, (5, 1, 4)).astype(np.float32) for name in "xy"}
        new = dynamic_tiling(g) if tiling == "static" else static_tiling(g, tile=2)
        check_same(g, new, inputs)


def test_weights_that_are_taken_apart_too_are_no_end() -> None:
    """As many rows as the tile has, but others: they are read once per tile."""
    g = sg.Graph("weights")
    x = g.input("x", sg.f32[1, 4], ("T",))
    chunks, flags = x.reshape(chunk=2, pad=0)
    packed = chunks.accum(fn.retile_row(), rank=1)
    w = sg.linear_offchip_load(
        g.tensor("w", (2, 4), sg.f32), tile=(2, 4), shape=(1,), stride=(0,), ref=packed
    ).flatten(0, 1)
    g.output(packed.flat_map(fn.retile_streamify("row"), rank=0, padding=flags), "y")
    g.output(w.flat_map(fn.retile_streamify("row"), rank=0), "w_rows")
    with pytest.raises(sg.StepError, match="finds no padded tiles"):
        dynamic_tiling(g)
