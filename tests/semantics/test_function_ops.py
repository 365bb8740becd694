from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stepgen as sg
from semantics import models
from semantics.drawn import plain, tile
from semantics.programs import SCALAR, execute, numbers_of, scalars, shape

few = settings(max_examples=60)


@few
@given(st.data())
def test_map(data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, 2))
    x = data.draw(scalars(rank))
    y = models.on_groups(x, rank, 0, lambda n: 2 * n + 1)
    g = sg.Graph()
    a, b = (g.input(name, SCALAR, shape(rank)) for name in "xy")
    g.output(sg.map(sg.fn.sub(), a, b), "two")
    g.output(a.zip(b).map(sg.fn.sub()), "pairs")
    result = execute(g, {"x": x, "y": y})
    expected = models.on_groups(x, rank, 0, lambda n: -n - 1)
    assert numbers_of(result, "two") == expected
    assert numbers_of(result, "pairs") == expected


@few
@given(st.data())
def test_accum_and_scan(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    inner = data.draw(st.integers(1, rank))
    init = data.draw(st.sampled_from([None, 7]))
    content = data.draw(scalars(rank))
    g = sg.Graph()
    x = g.input("x", SCALAR, shape(rank))
    g.output(x.accum(sg.fn.add(), rank=inner, init=init), "sum")
    g.output(x.scan(sg.fn.maximum(), rank=inner, init=init), "max")
    result = execute(g, {"x": content})
    start = init or 0
    expected = models.on_groups(
        content, rank, inner, lambda chunk: start + sum(models.leaves(chunk, inner))
    )
    assert numbers_of(result, "sum") == expected

    def running(chunk: Any) -> Any:
        lowest = -128 if init is None else init
        states = iter(list(accumulate(models.leaves(chunk, inner), max, initial=lowest))[1:])
        return models.on_groups(chunk, inner - 1, 0, lambda _: next(states))

    assert numbers_of(result, "max") == models.on_groups(content, rank, inner, running)


@few
@given(st.data())
def test_accum_retiles_chunks_of_tiles_of_any_size(data: st.DataObject) -> None:
    """Tiles of 0 rows too, and chunks without tiles."""
    sizes = data.draw(st.lists(st.lists(st.integers(0, 3), max_size=3), max_size=3))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    for axis, name in enumerate(("retile_row", "retile_col")):
        extents = [sg.ragged("R"), sg.static(2)][:: 1 - 2 * axis]
        tiles = models.on_groups(sizes, 1, 0, lambda n, a=axis: tile(rng, *((n, 2), (2, n))[a]))
        g = sg.Graph()
        x = g.input("x", sg.Tile(*extents, sg.int8), shape(1))
        g.output(x.accum(getattr(sg.fn, name)(), rank=1), "y")
        y = execute(g, {"x": tiles}).nested("y")
        empty = np.zeros((0, 2) if axis == 0 else (2, 0), np.int8)
        expected = [np.concatenate([empty, *group], axis=axis) for group in tiles]
        assert plain(y) == plain(expected)
        assert [t.shape for t in y] == [t.shape for t in expected]


@few
@given(st.data())
def test_accum_of_products_is_one_long_product(data: st.DataObject) -> None:
    counts = data.draw(st.lists(st.integers(0, 3), max_size=3))
    lanes = data.draw(st.sampled_from([2, 4]))
    rng = np.random.default_rng(1)
    for element in ("int8", "f32"):
        a = [[tile(rng, 3, 4, element) for _ in range(n)] for n in counts]
        b = [[tile(rng, 4, 2, element) for _ in range(n)] for n in counts]
        g = sg.Graph()
        kind = {"int8": sg.int8, "f32": sg.f32}[element]
        x, w = (g.input(n, kind[size], shape(1)) for n, size in (("x", (3, 4)), ("w", (4, 2))))
        g.output(sg.accum(sg.fn.matmul(), x, w, rank=1), "y")
        y = execute(g, {"x": a, "w": b}, lanes=lanes).nested("y")
        expected = [
            sum((p.astype(float) @ q.astype(float) for p, q in pairs), np.zeros((3, 2)))
            for pairs in (zip(p, q, strict=True) for p, q in zip(a, b, strict=True))
        ]
        assert plain(y) == plain(expected)


def test_an_empty_chunk_of_unknown_size_is_an_error() -> None:
    g = sg.Graph()
    x = g.input("x", sg.Tile("R", 2, sg.int8), shape(1))
    g.output(x.accum(sg.fn.add(), rank=1, name="fold"), "y")
    with pytest.raises(sg.StepError, match=r"fold .*empty chunk"):
        execute(g, {"x": [[np.zeros((3, 2))], []]})


def pieces(array: Any, axis: str) -> list[Any]:
    rows, cols = array.shape
    if axis == "row":
        return [array[i : i + 1] for i in range(rows)]
    return [array[:, i : i + 1] for i in range(cols)]


@few
@given(st.data())
def test_flat_map(data: st.DataObject) -> None:
    rank, inner = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 1))
    axis = data.draw(st.sampled_from(["row", "col"]))
    sizes = data.draw(scalars(rank))
    rng = np.random.default_rng(0)
    tiles = models.on_groups(sizes, rank, 0, lambda n: tile(rng, abs(n) % 4, 2))
    g = sg.Graph()
    x = g.input("x", sg.Tile(sg.ragged("R"), 2, sg.int8), shape(rank))
    g.output(x.flat_map(sg.fn.retile_streamify(axis), rank=inner), "y")
    y = execute(g, {"x": tiles}).nested("y")

    def string(items: Any) -> Any:
        parts = [pieces(item, axis) for item in items]
        return [p for part in parts for p in part] if inner == 0 else parts

    assert plain(y) == plain(models.at_dim(tiles, rank, 0, string))


@few
@given(st.data())
def test_flat_map_drops_what_is_padding(data: st.DataObject) -> None:
    rank, inner = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 1))
    shape_of_flags = data.draw(scalars(rank))
    flags = models.on_groups(
        shape_of_flags, rank, 0, lambda _: [data.draw(st.booleans()) for _ in range(3)]
    )
    rng = np.random.default_rng(0)
    tiles = models.on_groups(shape_of_flags, rank, 0, lambda _: tile(rng, 3, 2))
    g = sg.Graph()
    x, padding = g.input("x", sg.int8[3, 2], shape(rank)), g.input("p", sg.FLAG, (*shape(rank), 3))
    g.output(x.flat_map(sg.fn.retile_streamify("row"), rank=inner, padding=padding), "y")
    y = execute(g, {"x": tiles, "p": flags}).nested("y")
    kept = iter(
        [
            [piece for piece, flag in zip(pieces(t, "row"), f, strict=True) if not flag]
            for t, f in zip(
                models.groups(tiles, rank, 0), models.groups(flags, rank + 1, 1), strict=True
            )
        ]
    )

    def string(items: Any) -> Any:
        parts = [next(kept) for _ in items]
        return [p for part in parts for p in part] if inner == 0 else parts

    assert plain(y) == plain(models.at_dim(tiles, rank, 0, string))


@few
@given(st.data())
def test_padding_that_reshape_made_is_dropped_again(data: st.DataObject) -> None:
    """The way of the MoE layer, in one dim more: pad, pack, cut, drop."""
    rank, chunk = data.draw(st.integers(0, 1)), data.draw(st.integers(1, 4))
    content = data.draw(scalars(rank, longest=6))
    g = sg.Graph()
    chunks, padding = g.input("x", SCALAR, shape(rank)).reshape(chunk=chunk, pad=9)
    packed = chunks.accum(sg.fn.retile_row(), rank=1)
    g.output(packed.flat_map(sg.fn.retile_streamify("row"), rank=0, padding=padding), "y")
    assert numbers_of(execute(g, {"x": content}), "y") == content


@pytest.mark.usefixtures("unmatched")
def test_flags_that_do_not_match_the_tiles() -> None:
    g = sg.Graph()
    x, padding = g.input("x", sg.int8[2, 2], ("N",)), g.input("p", sg.FLAG, ("N", 2))
    x.flat_map(sg.fn.retile_streamify("row"), rank=0, padding=padding, name="cut")
    with pytest.raises(sg.StepError, match=r"cut .*x\.0 gives the end .*p\.0"):
        execute(g, {"x": np.zeros((1, 2, 2)), "p": [[0, 1], [0, 0]]})
