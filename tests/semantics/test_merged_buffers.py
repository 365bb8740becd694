"""Buffers that are merged and routed apart again have the dims that they had, and the contents."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stepgen as sg
from semantics.programs import SCALAR, execute, numbers_of, scalars

few = settings(max_examples=60)


def routed(g: sg.Graph, data: st.DataObject) -> tuple[tuple[sg.Stream, ...], dict[str, Any], Any]:
    """Groups of numbers for two consumers, their inputs, and the groups of each."""
    groups = data.draw(scalars(1))
    sel = [data.draw(st.tuples(st.booleans(), st.booleans())) for _ in groups]
    x, route = g.input("x", SCALAR, ("N", sg.ragged("B"))), g.input("sel", sg.Selector(2), ("N",))
    own = [[c for c, bits in zip(groups, sel, strict=True) if bits[i]] for i in range(2)]
    return sg.partition(x, route, rank=1), {"x": groups, "sel": [list(bits) for bits in sel]}, own


@few
@given(st.data())
def test_buffers_of_merged_tiles(data: st.DataObject) -> None:
    """Tiles of all numbers of a consumer are merged, stored and sent apart."""
    g = sg.Graph()
    parts, inputs, own = routed(g, data)
    tiles = [p.flatten(0, 1).promote().accum(sg.fn.retile_row(), rank=1) for p in parts]
    merged, back = sg.eager_merge(tiles, rank=0)
    split = merged.promote(0).bufferize(rank=1).partition(back, rank=0)
    for i, (part, tile) in enumerate(zip(split, tiles, strict=True)):
        assert isinstance(part.dtype, sg.Buffer)
        assert (part.dtype.tile, part.volume) == (tile.dtype, tile.volume)
        rows = part.streamify().flatten(0, 1).flat_map(sg.fn.retile_streamify("row"), rank=0)
        assert rows.shape == tile.flat_map(sg.fn.retile_streamify("row"), rank=0).shape
        g.output(rows, f"y{i}")
    g.output(sg.reassemble(split, back, rank=0).streamify(count=2), "again")
    result = execute(g, inputs)
    for i in range(2):
        assert numbers_of(result, f"y{i}") == [n for group in own[i] for n in group]


@few
@given(st.data())
def test_merged_buffers_of_any_length(data: st.DataObject) -> None:
    """Buffers of all numbers of a consumer, of which circuits would need one memory."""
    g = sg.Graph()
    parts, inputs, own = routed(g, data)
    buffers = [p.flatten(0, 1).promote().bufferize(rank=1) for p in parts]
    merged, back = sg.eager_merge(buffers, rank=0)
    g.output(merged.streamify().flatten(0, 1), "all")
    for i, part in enumerate(merged.partition(back, rank=0)):
        assert part.dtype == buffers[i].dtype
        g.output(part.streamify().flatten(0, 1), f"y{i}")
    result = execute(g, inputs)
    for i in range(2):
        assert numbers_of(result, f"y{i}") == [n for group in own[i] for n in group]
    assert sorted(numbers_of(result, "all")) == sorted(n for c in own for group in c for n in group)


@few
@given(scalars(0), scalars(0))
def test_one_dim_of_two_is_ragged(a: list[int], b: list[int]) -> None:
    g = sg.Graph()
    streams = [
        g.input(name, SCALAR, (name.upper(), 2)).promote().bufferize(rank=2) for name in "ab"
    ]
    merged, _ = sg.eager_merge(streams, rank=0)
    g.output(merged.streamify(), "y")
    result = execute(g, {"a": [[n, n] for n in a], "b": [[n, n] for n in b]})
    expected = sorted([[n, n] for n in c] for c in (a, b) if c)
    assert sorted(numbers_of(result, "y")) == expected


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (("N", 3, 1), r"dim of the buffers, 2 against 3"),
        (("N", 2), r"a\.0 is Stream\[.*b\.0 is Stream\[.*must all be buffers of one rank"),
    ],
)
def test_buffers_that_do_not_fit(other: tuple[Any, ...], message: str) -> None:
    g = sg.Graph()
    a = g.input("x", SCALAR, ("N", 2, 1)).bufferize(rank=2, name="a")
    b = g.input("y", SCALAR, other).bufferize(rank=len(other) - 1, name="b")
    with pytest.raises(sg.StepError, match=message):
        sg.eager_merge([a, b], rank=0)


def test_only_the_outermost_dim_of_merged_buffers_may_be_ragged() -> None:
    g = sg.Graph()
    a, b = (
        g.input(f"x{n}", SCALAR, ("N", 2, sg.dynamic(n.upper()))).bufferize(rank=2, name=n)
        for n in "ab"
    )
    with pytest.raises(sg.StepError, match=r"buffers of a\.0 .* only the outermost"):
        sg.eager_merge([a, b], rank=0)
