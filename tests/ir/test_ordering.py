"""The order of streams: what the reference brings, tile by tile, is what the type says."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import stepgen as sg
from stepgen.ir.ordering import orders
from stepgen.semantics.executor import run

SHAPE = (8, 16)
DATA = np.arange(128, dtype=np.int32).reshape(SHAPE)


def tiles(value: Any) -> list[np.ndarray]:
    """All tiles of a nested value, in order."""
    return [t for v in value for t in tiles(v)] if isinstance(value, list) else [np.asarray(value)]


def check(graph: sg.Graph, stream: sg.Stream, data: np.ndarray, **tensors: np.ndarray) -> None:
    """The reference brings the tiles of `data` in the order of the stream's type."""
    graph.output(stream, "y")
    found = tiles(run(graph, tensors).nested("y"))
    order = stream.itensor
    assert order.shape == data.shape
    assert len(found) == order.tokens
    for tile, (row, col) in zip(found, order.offsets(), strict=True):
        rows, cols = order.tile
        assert (tile == data[row : row + rows, col : col + cols]).all()


def drawn_load(rng: random.Random, graph: sg.Graph) -> sg.Stream:
    """The whole tensor in an order that is drawn, often with a repetition."""
    rows, cols = rng.choice([1, 2, 4]), rng.choice([2, 4, 8])
    loops = [(SHAPE[0] // rows, SHAPE[1] // cols), (SHAPE[1] // cols, 1)]
    rng.shuffle(loops)
    if rng.random() < 0.5:
        loops.insert(rng.randint(0, 2), (rng.choice([2, 3]), 0))
    elif rng.random() < 0.5:
        loops = [(SHAPE[0] // rows * SHAPE[1] // cols, 1)]
    shape, stride = zip(*loops, strict=True)
    w = graph.tensor("w", SHAPE, "int32")
    return sg.linear_offchip_load(w, tile=(rows, cols), shape=shape, stride=stride)


def drawn_step(rng: random.Random, x: sg.Stream) -> sg.Stream:
    """The same tiles under other dims, repeated, or from a buffer in another order."""
    kind = rng.choice(["promote", "flatten", "reshape", "expand", "buffer", "again", "cut", "rows"])
    last, whole = int(x.dim(0)), int(x.shape[0])
    if kind == "promote":
        return x.promote(rng.randint(0, x.rank + 1))
    if kind == "flatten" and x.rank:
        return x.flatten(0, rng.randint(1, x.rank))
    if kind == "reshape" and x.rank and whole % 2 == 0:
        return x.reshape(dim=x.rank, chunk=rng.choice([n for n in (2, 4) if whole % n == 0]))
    if kind == "reshape" and last % 2 == 0:
        return x.reshape(chunk=2)[0]
    if kind == "expand":
        return x.promote(0).expand(count=rng.choice([2, 3]))
    if kind == "buffer" and x.rank and last > 1:
        stride = (1, last) if rng.random() < 0.7 else (last, 1)
        shape = (last, int(x.dim(1))) if stride[0] == 1 else (int(x.dim(1)), last)
        held = (x if x.rank > 1 else x.promote()).bufferize(rank=2)
        return held.streamify(shape=shape, stride=stride)
    if kind == "again" and x.rank:
        return x.bufferize(rank=1).streamify(count=2)
    if kind == "cut" and int(x.tile.cols) % 4 == 0:
        return x.flat_map(sg.fn.cut_cols(2), rank=rng.choice([0, 1]))
    if kind == "rows" and int(x.tile.rows) > 1:
        return x.flat_map(sg.fn.retile_streamify("row"), rank=rng.choice([0, 1]))
    return x


def test_drawn_programs() -> None:
    rng, known, reasons = random.Random(7), 0, set()
    for _ in range(120):
        graph = sg.Graph()
        x = drawn_load(rng, graph)
        for _ in range(rng.randint(0, 3)):
            x = drawn_step(rng, x)
        order = orders(graph)[x]
        if isinstance(order, str):
            reasons.add(order)
            continue
        check(graph, x, DATA, w=DATA)
        known += 1
    assert known > 110, reasons


def product_of(transpose: bool, *, add: bool = False) -> tuple[sg.Graph, sg.Stream]:
    g = sg.Graph()
    a, b = g.tensor("a", (8, 16), "int8"), g.tensor("b", (16, 16), "int8")
    x = sg.linear_offchip_load(a, tile=(4, 8), shape=(2, 4, 2), stride=(2, 0, 1))
    tile = (4, 8) if transpose else (8, 4)
    stride = (0, 2, 1) if transpose else (0, 1, 4)
    w = sg.linear_offchip_load(b, tile=tile, shape=(2, 4, 2), stride=stride)
    y = x.accum(sg.fn.matmul(transpose=transpose), w, rank=1)
    return g, y.map(sg.fn.add(), y) if add else y


@pytest.mark.parametrize("transpose", [False, True])
def test_a_product_has_the_rows_of_one_and_the_columns_of_the_other(transpose: bool) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(-9, 9, (8, 16), np.int8), rng.integers(-9, 9, (16, 16), np.int8)
    g, y = product_of(transpose)
    order = "itensor<4x4xint32, iter_space [2, 4]*[4, 4], iter_map (d0, d1) -> (d0, d1)>"
    assert str(y.itensor) == order
    right = b.T if transpose else b
    check(g, y, a.astype(np.int32) @ right.astype(np.int32), a=a, b=b)


def test_partial_products_lie_in_a_dim_of_their_own() -> None:
    g = sg.Graph()
    x, w = g.input("x", sg.int8[4, 8], (3,)), g.tensor("w", (24, 16), "int8")
    tiles_ = sg.linear_offchip_load(w, tile=(8, 16), shape=(3,), stride=(1,))
    y = x.map(sg.fn.matmul(), tiles_)
    assert y.itensor.shape == (3, 4, 16)
    assert y.promote().accum(sg.fn.add(), rank=1).itensor.shape == (4, 16)


def test_joined_tiles_and_functions() -> None:
    g = sg.Graph()
    w = g.tensor("w", SHAPE, "int32")
    x = sg.linear_offchip_load(w, tile=(2, 4), shape=(4, 4), stride=(4, 1))
    rows = x.accum(sg.fn.retile_col(), rank=1)
    assert rows.itensor.tile == (2, 16)
    whole = rows.promote().accum(sg.fn.retile_row(), rank=1)
    assert whole.itensor.tile == SHAPE
    check(g, whole, DATA, w=DATA)
    sums = x.map(sg.fn.row_sum())
    assert sums.itensor.shape == (8, 4)
    wide = sums.map(sg.fn.row_broadcast(cols=4))
    assert x.map(sg.fn.add(), wide).itensor == x.itensor
    across = sg.linear_offchip_load(w, tile=(2, 4), shape=(4, 4), stride=(1, 4))
    odd = across.accum(sg.fn.retile_col(), rank=1)
    assert odd.itensor.shape == (4, 2, 16)  # its tiles are not a part of w as it lies there


def test_addresses_that_are_counted_read_in_a_known_order() -> None:
    g = sg.Graph()
    layers, w = g.tensor("layers", (1, 2), "address"), g.tensor("w", (24, 8), "int8")
    ranges = sg.linear_offchip_load(layers, tile=(1, 2), shape=(1,), stride=(1,))
    at = ranges.flat_map(sg.fn.span(most=3), rank=1).flat_map(sg.fn.tile_addresses(4), rank=1)
    order = at.random_offchip_load(w, tile=(2, 8)).itensor
    dim = at.dim(1)
    assert order.loops == ((str(dim), 8), (4, 2))
    assert order.map == ((0, 1), ())
    free = g.input("at", sg.address[1, 1], (5,)).random_offchip_load(w, tile=(2, 8))
    assert free.itensor.shape == (5, 2, 8)


def test_reasons() -> None:
    g = sg.Graph()
    w = g.tensor("w", SHAPE, "int32")
    across = sg.linear_offchip_load(w, tile=(2, 4), shape=(6,), stride=(1,))
    with pytest.raises(sg.StepError, match="6 trips ends within a row of 4 tiles"):
        across.itensor  # noqa: B018
    select = g.input("s", sg.Selector(2), (6,))
    with pytest.raises(sg.StepError, match="it carries no tiles but selector 2"):
        select.itensor  # noqa: B018
    ragged = g.input("r", sg.int8[1, 4], (4, sg.ragged("R", bound=3)))
    with pytest.raises(sg.StepError, match=r"itensor at test_ordering.py:.* the order of r.0, .*R"):
        ragged.itensor  # noqa: B018
    assert ragged.accum(sg.fn.add(), rank=1).itensor.shape == (4, 1, 4)


def test_a_type_is_a_load_and_a_reading() -> None:
    by_rows = sg.Itensor((2, 4), "int32", ((4, 2), (3, 1), (4, 4)), ((0,), (2,)))
    by_cols = sg.Itensor((2, 4), "int32", ((4, 4), (4, 2)), ((1,), (0,)))
    for first, then in ((by_rows, by_cols), (by_cols, by_rows), (by_rows, by_rows)):
        g = sg.Graph()
        x = sg.linear_offchip_load(g.tensor("w", SHAPE, "int32"), itensor=first)
        assert x.itensor == first
        y = x.promote().bufferize(rank=len(first.loops)).streamify(itensor=str(then))
        assert y.itensor == then
        check(g, y, DATA, w=DATA)


def test_mistakes_with_types() -> None:
    g = sg.Graph()
    w = g.tensor("w", SHAPE, "int32")
    order = sg.Itensor((2, 4), "int32", ((4, 2), (4, 4)), ((0,), (1,)))
    with pytest.raises(sg.StepError, match="an itensor gives tile, shape and stride: leave those"):
        sg.linear_offchip_load(w, tile=(2, 4), itensor=order)
    with pytest.raises(sg.StepError, match="it needs tile, shape and stride, or an itensor"):
        sg.linear_offchip_load(w, tile=(2, 4))
    other = sg.Itensor((2, 4), "int32", ((4, 2), (2, 4)), ((0,), (1,)))
    with pytest.raises(
        sg.StepError, match=r"tensor w is itensor<8x16xint32, .* can't be itensor<2"
    ):
        sg.linear_offchip_load(w, itensor=other)
    over = sg.Itensor((2, 4), "int32", ((7, 1), (4, 4)), ((0,), (1,)))
    with pytest.raises(
        sg.StepError, match=r"steps of a read must be .* d0 steps by 1 in itensor<2"
    ):
        sg.linear_offchip_load(w, itensor=over)
    x = sg.linear_offchip_load(w, itensor=order)
    with pytest.raises(sg.StepError, match="must be a stream of buffers, not Stream"):
        x.streamify(itensor=order)
    held = x.bufferize(rank=1)
    with pytest.raises(sg.StepError, match="an itensor gives count, shape and stride"):
        held.streamify(count=2, itensor=order)
    with pytest.raises(
        sg.StepError, match=r"holds itensor<2x4xint32, .*can't be read as itensor<2"
    ):
        held.streamify(itensor=other)
    swapped = sg.Itensor((2, 4), "int32", ((4, 4), (4, 2)), ((1,), (0,)))
    with pytest.raises(sg.StepError, match=r"the outer loops of itensor<2x4xint32, .* are others"):
        held.streamify(itensor=swapped)
