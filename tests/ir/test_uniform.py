"""Tiles whose size is ragged in the stream but not within the chunks that are folded."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import stepgen as sg
from stepgen.ir.metrics import metrics

R = sg.ragged("R")
fn = sg.fn


def tiles(*shape: int | str) -> sg.Stream:
    return sg.Graph("ragged").input("x", sg.Tile(R, 8, sg.bf16), shape)


def repeated(x: sg.Stream) -> sg.Stream:
    return x.promote(0).expand(count=4)


def stored(x: sg.Stream, rank: int = 1) -> sg.Stream:
    return x.bufferize(rank=rank)


@pytest.mark.parametrize(
    "chunks",
    [
        lambda: repeated(tiles(3)),
        lambda: repeated(tiles(3)).map(fn.silu()).fork(2)[1],
        lambda: repeated(tiles(3)).promote(1).flatten(0, 1),
        lambda: repeated(tiles(3)).reshape(chunk=2)[0].flatten(0, 1),
        lambda: repeated(repeated(tiles(3))).flatten(0, 1),
        lambda: stored(tiles(3, 1)).streamify(count=4).flatten(0, 1),
        lambda: stored(repeated(tiles(3))).fork(2)[1].streamify(),
        lambda: stored(repeated(tiles(3))).streamify(shape=(4,), stride=(1,)),
        lambda: stored(tiles(3, 1, 1)).expand(count=4).streamify().flatten(0, 1),
    ],
)
def test_repeated_tiles_can_be_folded(chunks: Callable[[], sg.Stream]) -> None:
    x = chunks()
    assert x.accum(fn.retile_col(), rank=1).dtype == sg.Tile(
        R, 32 * (x.shape[-1].static // 4), sg.bf16
    )
    assert x.accum(fn.add(), rank=1).dtype == sg.Tile(R, 8, sg.bf16)
    weights = x.graph.input("w", sg.bf16[8, 8], x.shape)
    total = x.accum(fn.matmul(), weights, rank=1)
    assert total.dtype.rows == R
    assert total.volume == x.volume / x.shape[-1].static


@pytest.mark.parametrize(
    "chunks",
    [
        lambda: tiles(3),
        lambda: tiles(3).promote(1),
        lambda: repeated(tiles(3)).flatten(0, 1),
        lambda: tiles(3, 4),
        lambda: tiles(4).reshape(chunk=2)[0],
        lambda: stored(tiles(3, 2)).streamify(count=2),
        lambda: stored(tiles(3, 1)).streamify(count=2).flatten(0, 2),
        lambda: stored(repeated(tiles(3, 2)), 2).streamify(shape=(4,), stride=(2,)),
        lambda: stored(t := tiles(3, 2)).streamify(t.promote(0)),
        lambda: stored(tiles(3, 1, 2)).expand(count=4).streamify().flatten(0, 1),
    ],
)
def test_other_tiles_can_not(chunks: Callable[[], sg.Stream]) -> None:
    x = chunks()
    if x.rank == 0:
        x = x.promote()
    with pytest.raises(sg.StepError, match="whose rows differ"):
        x.accum(fn.retile_col(), rank=1)
    with pytest.raises(sg.StepError, match="different sizes"):
        x.accum(fn.add(), rank=1)


def test_memory_is_for_the_largest_of_what_is_merged() -> None:
    g = sg.Graph("merged")
    a, b = (g.input(n, sg.Tile(n.upper(), 8, sg.bf16), (3,)) for n in "ab")
    data, names = sg.eager_merge([a, b], rank=0)
    g.output(repeated(data).accum(fn.retile_col(), rank=1), "y")
    g.output(names, "names")
    cost = metrics(g)
    assert {s.name for s in cost.symbols} == {"A", "B"}
    few, many = (cost.evaluate({"A": 2, "B": n}).memory for n in (1, 5))
    assert many * 2 == few * 5
