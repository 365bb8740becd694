"""Functions of addresses and ranges against plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stepgen as sg
from semantics import models
from semantics.drawn import tile
from semantics.programs import SCALAR, execute, numbers_of, scalars, shape

few = settings(max_examples=40)
RANGE = sg.address[1, 2]
ADDRESS = sg.address[1, 1]


@few
@given(st.data())
def test_tile_addresses(data: st.DataObject) -> None:
    rank, inner = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 1))
    count = data.draw(st.integers(1, 3))
    named = models.on_groups(data.draw(scalars(rank)), rank, 0, abs)
    g = sg.Graph()
    fn = sg.fn.tile_addresses(count)
    g.output(g.input("e", ADDRESS, shape(rank)).flat_map(fn, rank=inner), "number")
    g.output(g.input("s", sg.Selector(6), shape(rank, "B")).flat_map(fn, rank=inner), "hot")
    selectors = models.on_groups(named, rank, 0, lambda e: np.arange(6) == e)
    result = execute(g, {"e": named, "s": selectors})

    def string(items: Any) -> Any:
        parts = [[e * count + i for i in range(count)] for e in items]
        return [p for part in parts for p in part] if inner == 0 else parts

    expected = models.at_dim(named, rank, 0, string)
    assert numbers_of(result, "number") == expected
    assert numbers_of(result, "hot") == expected


@pytest.mark.parametrize("rank", [0, 1])
def test_tile_addresses_of_the_largest_of_a_row(rank: int) -> None:
    """Two tiles for each expert that a router chooses, the lowest first."""
    scores = np.array([[[3, 1, 4, 1]], [[0, 2, 1, 5]]], np.int32)
    g = sg.Graph()
    chosen = g.input("x", sg.int32[1, 4], (2,)).map(sg.fn.top_k(2))
    y = chosen.flat_map(sg.fn.tile_addresses(2), rank=rank)
    g.output(y, "y")
    found = numbers_of(execute(g, {"x": scores}), "y")
    assert np.ravel(found).tolist() == [0, 1, 4, 5, 2, 3, 6, 7]
    assert str(y) == f"Stream[address 1x1; {'2, 4' if rank else '8'}]"


def _ranges(data: st.DataObject, rank: int, shortest: int) -> tuple[Any, Any]:
    """Starts and lengths as Python tuples, and as tiles."""
    numbers = data.draw(scalars(rank))
    ranges = models.on_groups(numbers, rank, 0, lambda n: (abs(n), shortest + 3 * abs(n) % 4))
    return ranges, models.on_groups(ranges, rank, 0, lambda r: np.array([r], np.uint64))


@few
@given(st.data())
def test_span_gives_every_use_of_the_same_ranges_the_same_dims(data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, 2))
    ranges, tiles = _ranges(data, rank, 0)
    g = sg.Graph()
    x = g.input("x", RANGE, shape(rank))
    first, second = (x.flat_map(sg.fn.span(), rank=1) for _ in range(2))
    assert first.totals == second.totals
    g.output(first.zip(second, name="both"), "y")
    expected = models.on_groups(ranges, rank, 0, lambda r: [(r[0] + i,) * 2 for i in range(r[1])])
    assert numbers_of(execute(g, {"x": tiles}), "both.0") == expected


@few
@given(st.data())
def test_the_last_of_a_span_is_routed_apart_and_merged_again(data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, 1))
    ranges, tiles = _ranges(data, rank, 1)
    g = sg.Graph()
    x = g.input("x", RANGE, shape(rank))
    addresses, last = (x.flat_map(fn, rank=1) for fn in (sg.fn.span(), sg.fn.span_last()))
    parts = sg.partition(addresses, last, rank=0)
    g.output(parts[0], "ends")
    g.output(x.map(sg.fn.span_end()), "computed")
    whole = sg.reassemble(parts, last, rank=0)
    assert (parts[0].totals, whole.totals[0]) == ((x.totals[0],), addresses.totals[0])
    g.output(addresses.zip(whole.flatten(0, 1), name="both"), "same")
    result = execute(g, {"x": tiles})
    flat = models.leaves(ranges, rank + 1)
    assert numbers_of(result, "ends") == [start + length - 1 for start, length in flat]
    ends = models.on_groups(ranges, rank, 0, lambda r: r[0] + r[1] - 1)
    assert numbers_of(result, "computed") == ends
    expected = models.on_groups(ranges, rank, 0, lambda r: [(r[0] + i,) * 2 for i in range(r[1])])
    assert numbers_of(result, "both.0") == expected


def test_lengths_are_one_symbol() -> None:
    g = sg.Graph()
    x = g.input("x", RANGE, (3,))
    keys = g.tensor("keys", (32, 8), sg.bf16)
    one, two = (
        sg.random_offchip_load(x.flat_map(sg.fn.span(), rank=1), keys, tile=(4, 8))
        for _ in range(2)
    )
    g.output(one.map(sg.fn.add(), two), "y")
    assert [str(d) for d in one.shape] == ["3", "L0"]
    got = sg.metrics(g).evaluate({str(one.totals[0]): 9})
    assert got.traffic == 2 * 9 * 4 * 8 * 2
    alone = g.input("alone", RANGE, (1,)).flat_map(sg.fn.span(), rank=1)
    assert (alone.shape[1].kind, alone.totals[0]) == ("dynamic", alone.shape[1].expr)


def test_ranges_that_are_not_empty_need_no_guard() -> None:
    """Their length is at least 1, so a fold over it has no empty chunk, nor its tile no rows."""
    g = sg.Graph()
    x = g.input("x", RANGE, (3,))
    keys = g.tensor("keys", (32, 8), sg.bf16)
    at = x.flat_map(sg.fn.span(6, positive=True), rank=1)
    assert not at.shape[1].may_be_empty
    rows = sg.random_offchip_load(at, keys, tile=(1, 8)).accum(sg.fn.retile_row(), rank=1)
    assert isinstance(rows.dtype, sg.Tile)
    assert (rows.dtype.rows.bound, rows.dtype.rows.may_be_empty) == (6, False)
    again = x.flat_map(sg.fn.span(6), rank=1)
    assert again.shape == at.shape


def test_ranges_of_the_same_lengths_have_the_same_dims() -> None:
    """Also where they are repeated alike, or start elsewhere."""
    g = sg.Graph()
    x = g.input("x", RANGE, (3,))
    length = g.input("length", ADDRESS, (3,))
    one, other = (g.input(name, ADDRESS, (3,)) for name in ("one", "other"))
    ranges = [start.map(sg.fn.as_range(), length) for start in (one, other)]
    twice = [r.promote(0).expand(count=2).flatten(0, 1) for r in (x, x, *ranges, ranges[0])]
    at = [r.flat_map(sg.fn.span(4), rank=1) for r in [x, x.fork(2)[0], *ranges, *twice]]
    dims = [str(a.shape[1]) for a in at]
    assert dims == ["L0", "L0", "L1", "L1", "L2", "L2", "L3", "L3", "L3"]
    for n, a in enumerate(at):
        g.output(a, f"y{n}")
    given = {"x": np.array([[[5, 2]]] * 3), "one": [7, 8, 9], "other": [1, 2, 3]}
    result = execute(g, given | {"length": [0, 1, 2]})
    assert numbers_of(result, "y2") == [[], [8], [9, 10]]
    assert numbers_of(result, "y3") == [[], [2], [3, 4]]
    assert numbers_of(result, "y7") == [[], [], [2], [2], [3, 4], [3, 4]]


def test_ranges_that_are_repeated_otherwise_have_other_dims() -> None:
    g = sg.Graph()
    x = g.input("x", RANGE, (2,))
    inner = x.promote(0).expand(count=2)
    outer = x.promote().promote(0).expand(count=2)
    parts = x.split([1, 1])
    at = [r.flat_map(sg.fn.span(), rank=1) for r in (x, inner, outer.flatten(1, 2), *parts)]
    assert [str(a.shape[-1]) for a in at] == ["L0", "L1", "L2", "L3", "L4"]


@few
@given(st.data())
def test_the_first_of_a_span_is_distinguished_from_the_others(data: st.DataObject) -> None:
    ranges, tiles = _ranges(data, 0, 1)
    g = sg.Graph()
    x = g.input("x", RANGE, shape(0))
    addresses, first = (x.flat_map(fn, rank=1) for fn in (sg.fn.span(), sg.fn.span_first()))
    starts, others = sg.partition(addresses, first, rank=0)
    g.output(starts, "starts")
    g.output(others, "others")
    assert (starts.totals, others.totals[0]) == ((x.totals[0],), addresses.totals[0] - x.totals[0])
    result = execute(g, {"x": tiles})
    assert numbers_of(result, "starts") == [start for start, _ in ranges]
    rest = [start + i for start, length in ranges for i in range(1, length)]
    assert numbers_of(result, "others") == rest


def test_counts_become_numbers() -> None:
    g = sg.Graph()
    x = g.input("x", SCALAR, shape(1))
    g.output(x.accum(sg.fn.count(), rank=1).map(sg.fn.convert(sg.f32)), "n")
    assert numbers_of(execute(g, {"x": [[1, 2], [], [3]]}), "n") == [2.0, 0.0, 1.0]


@few
@given(st.data())
def test_bits_of_selectors_are_routed_as_the_selectors_are(data: st.DataObject) -> None:
    hot = data.draw(st.sampled_from([None, 2]))
    sizes = data.draw(st.lists(st.integers(0, 4), max_size=4))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    chosen = [sorted(rng.permutation(4)[: n if hot is None else hot].tolist()) for n in sizes]
    g = sg.Graph()
    selectors = g.input("s", sg.Selector(4, hot=hot), (len(chosen),))
    bits = selectors.flat_map(sg.fn.one_hot(), rank=1)
    weights = g.input("w", SCALAR, bits.shape)
    tokens = g.input("t", SCALAR, selectors.shape)
    parts = zip(
        sg.partition(tokens, selectors, rank=0), sg.partition(weights, bits, rank=0), strict=True
    )
    for i, (token, weight) in enumerate(parts):
        g.output(token.zip(weight, name=f"both{i}"), f"y{i}")
    masks = [np.isin(np.arange(4), c) for c in chosen]
    weighted = [[10 * t + i for i in c] for t, c in enumerate(chosen)]
    given = {"s": masks, "w": weighted, "t": [*range(len(chosen))]}
    result = execute(g, given)
    for i in range(4):
        expected = [(t, 10 * t + i) for t, c in enumerate(chosen) if i in c]
        assert numbers_of(result, f"both{i}.0") == expected


@pytest.mark.parametrize("element", ["int8", "int16", "bf16", "f32"])
def test_rows_are_placed_and_columns_masked(element: str) -> None:
    rng = np.random.default_rng(0)
    kind = {"int8": sg.int8, "int16": sg.int16, "bf16": sg.bf16, "f32": sg.f32}[element]
    x, row = tile(rng, 5, 6, element), tile(rng, 1, 6, element)
    g = sg.Graph()
    a, b = g.input("x", kind[5, 6], (7,)), g.input("row", kind[1, 6], (7,))
    n = g.input("n", ADDRESS, (7,))
    g.output(a.map(sg.fn.mask_cols(-3), n), "masked")
    g.output(a.map(sg.fn.mask_rows(-3), n), "rows")
    index = g.input("i", ADDRESS, (7,))
    g.output(sg.map(sg.fn.place_row(), a, b, index), "placed")
    rows = [0, 1, 2, 3, 4, 0, 4]
    result = execute(g, {"x": [x] * 7, "row": [row] * 7, "n": [*range(7)], "i": rows})
    columns = np.arange(6)
    for n_valid, masked in enumerate(result.nested("masked")):
        assert (masked == np.where(columns < n_valid, x, np.array(-3, x.dtype))).all()
    for n_valid, masked in enumerate(result.nested("rows")):
        kept = (np.arange(5) < n_valid)[:, None]
        assert (masked == np.where(kept, x, np.array(-3, x.dtype))).all()
    for i, placed in zip(rows, result.nested("placed"), strict=True):
        assert (placed == np.where((np.arange(5) == i)[:, None], row, x)).all()


KINDS = {"int8": sg.int8, "int16": sg.int16, "int32": sg.int32, "bf16": sg.bf16, "f32": sg.f32}


@pytest.mark.parametrize("element", KINDS)
@pytest.mark.parametrize("window", [None, 1, 3])
def test_later_positions_are_masked(element: str, window: int | None) -> None:
    rng = np.random.default_rng(0)
    x = tile(rng, 5, 6, element)
    positions = [(0, 0), (3, 0), (0, 3), (9, 5), (5, 9), (2**40, 2**40 - 2), (0, 2**63), (2**63, 0)]
    g = sg.Graph()
    count = (len(positions),)
    a = g.input("x", KINDS[element][5, 6], count)
    p, q = (g.input(name, ADDRESS, count) for name in ("p", "q"))
    moved = {"mask_causal": (1, 1), "mask_cols": (0, 1), "mask_rows": (-1, 0)}
    for name in moved:
        g.output(a.map(getattr(sg.fn, name)(-3, window), p, q), name)
    first, second = zip(*positions, strict=True)
    result = execute(g, {"x": [x] * len(positions), "p": first, "q": second})
    for name, (by_row, by_col) in moved.items():
        for (p_0, q_0), masked in zip(positions, result.nested(name), strict=True):
            for i in range(5):
                for j in range(6):
                    ahead = p_0 - q_0 + by_row * i - by_col * j
                    seen = ahead >= 0 and (window is None or ahead < window)
                    assert masked[i, j] == (x[i, j] if seen else -3)


@pytest.mark.parametrize("name", ["mask_causal", "mask_cols", "mask_rows"])
def test_positions_of_a_mask_may_have_a_bound(name: str) -> None:
    """Larger ones are refused."""
    g = sg.Graph()
    x = g.input("x", sg.int8[3, 4], (2,))
    p, q = (g.input(name, ADDRESS, (2,)) for name in ("p", "q"))
    g.output(x.map(getattr(sg.fn, name)(0, most=200), p, q), "y")
    fn = getattr(sg.fn, name)(0, most=200)
    assert fn.largest_number(sg.int8[3, 4], ADDRESS, ADDRESS) == 200
    tiles = [np.ones((3, 4), np.int8)] * 2
    execute(g, {"x": tiles, "p": [200, 0], "q": [0, 200]})
    sentence = rf"{name}\(value=0, most=200\) takes positions of at most 200, not 201"
    with pytest.raises(sg.StepError, match=sentence):
        execute(g, {"x": tiles, "p": [0, 201], "q": [0, 200]})


def test_a_row_that_is_masked_may_hold_anything() -> None:
    g = sg.Graph()
    x, n = g.input("x", sg.f32[3, 2], (1,)), g.input("n", ADDRESS, (1,))
    g.output(x.map(sg.fn.mask_rows(0), n), "y")
    junk = np.full((3, 2), np.nan, np.float32)
    junk[0] = 1, 2
    (y,) = execute(g, {"x": [junk], "n": [1]}).nested("y")
    np.testing.assert_array_equal(y, [[1, 2], [0, 0], [0, 0]])


@few
@given(st.data())
def test_count(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    inner = data.draw(st.integers(1, rank))
    content = data.draw(scalars(rank))
    g = sg.Graph()
    g.output(g.input("x", SCALAR, shape(rank)).accum(sg.fn.count(), rank=inner), "n")
    expected = models.on_groups(
        content, rank, inner, lambda chunk: len(list(models.leaves(chunk, inner)))
    )
    assert numbers_of(execute(g, {"x": content}), "n") == expected


@pytest.mark.parametrize(
    ("fn", "kind", "value", "message"),
    [
        (
            sg.fn.tile_addresses(2),
            sg.Selector(3),
            [1, 1, 0],
            "one bit set, not one with 2 of 3 bits set",
        ),
        (sg.fn.tile_addresses(2), sg.Selector(3), [0, 0, 0], "one with 0 of 3 bits set"),
        (sg.fn.span_last(), RANGE, [[5, 0]], "ranges of at least 1, but that at 5 is 0"),
        (sg.fn.span_end(), RANGE, [[5, 0]], "ranges of at least 1, but that at 5 is 0"),
        (sg.fn.span(None, True), RANGE, [[5, 0]], "ranges of at least 1, but that at 5 is 0"),
        (sg.fn.span(3), RANGE, [[5, 4]], "takes ranges of at most 3, but that at 5 is 4 long"),
        (sg.fn.span(), RANGE, [[2**63, 2**63 + 1]], "past all addresses"),
        (sg.fn.span_end(), RANGE, [[2**63, 2**63 + 1]], "past all addresses"),
    ],
    ids=str,
)
def test_values_that_do_not_fit_are_named(fn: Any, kind: Any, value: Any, message: str) -> None:
    g = sg.Graph()
    x = g.input("x", kind, (1,))
    y = x.map(fn, name="use") if fn.name == "span_end" else x.flat_map(fn, rank=1, name="use")
    g.output(y, "y")
    with pytest.raises(sg.StepError, match=f"use .*{message}"):
        execute(g, {"x": np.array([value])})


@pytest.mark.parametrize(("rows", "at"), [(0, 5), (1, 0), (2, 1), (3, 0)])
def test_rows_are_placed(rows: int, at: int) -> None:
    g, count = sg.Graph(), sg.dynamic("r", bound=3)
    x, new = g.input("x", sg.f32[3, 2], (1,)), g.input("new", sg.f32[count, 2], (1,))
    g.output(sg.map(sg.fn.place_rows(), x, new, g.input("i", ADDRESS, (1,))), "y")
    tile, own = np.arange(6.0).reshape(3, 2), -np.ones((rows, 2))
    wanted = tile.copy()
    wanted[at : at + rows] = own
    (placed,) = execute(g, {"x": [tile], "new": [own], "i": [at]}).nested("y")
    assert (placed == wanted).all()


def test_rows_behind_the_tile_are_named() -> None:
    g = sg.Graph()
    x, new = g.input("x", sg.f32[3, 2], (1,)), g.input("new", sg.f32[2, 2], (1,))
    g.output(sg.map(sg.fn.place_rows(), x, new, g.input("i", ADDRESS, (1,))), "y")
    with pytest.raises(sg.StepError, match="can't replace rows 2 to 3 of a tile of 3x2"):
        execute(g, {"x": np.zeros((1, 3, 2)), "new": np.zeros((1, 2, 2)), "i": [2]})


def test_a_row_behind_the_tile_is_named() -> None:
    g = sg.Graph()
    x, row = g.input("x", sg.f32[2, 3], (1,)), g.input("row", sg.f32[1, 3], (1,))
    g.output(sg.map(sg.fn.place_row(), x, row, g.input("i", ADDRESS, (1,))), "y")
    with pytest.raises(sg.StepError, match="can't replace row 2 of a tile of 2x3"):
        execute(g, {"x": np.zeros((1, 2, 3)), "row": np.zeros((1, 1, 3)), "i": [2]})
