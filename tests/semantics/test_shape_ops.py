from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stepgen as sg
from semantics import models
from semantics.programs import SCALAR, execute, numbers_of, scalars, shape

few = settings(max_examples=60)


@few
@given(st.data())
def test_flatten(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    lo, hi = sorted((data.draw(st.integers(0, rank)), data.draw(st.integers(0, rank))))
    content = data.draw(scalars(rank))
    g = sg.Graph()
    g.output(g.input("x", SCALAR, shape(rank)).flatten(lo, hi), "y")
    assert numbers_of(execute(g, {"x": content}), "y") == models.flatten(content, rank, lo, hi)


@few
@given(st.data())
def test_flatten_twice(data: st.DataObject) -> None:
    """The second operator takes the delayed empty tokens of the first."""
    content = data.draw(scalars(3))
    g = sg.Graph()
    g.output(g.input("x", SCALAR, shape(3)).flatten(0, 1).flatten(0, 1), "y")
    assert numbers_of(execute(g, {"x": content}), "y") == models.flatten(content, 3, 0, 2)


@few
@given(st.data())
def test_reshape_of_the_innermost_dim(data: st.DataObject) -> None:
    rank, chunk = data.draw(st.integers(0, 2)), data.draw(st.integers(1, 4))
    content = data.draw(scalars(rank, longest=6))
    g = sg.Graph()
    y, padding = g.input("x", SCALAR, shape(rank)).reshape(chunk=chunk, pad=9)
    g.output(y, "y")
    g.output(padding, "padding")
    result = execute(g, {"x": content})
    assert numbers_of(result, "y") == models.reshape(content, rank, 0, chunk, 9)
    flags = models.on_groups(content, rank, 0, lambda _: False)
    assert numbers_of(result, "padding") == models.reshape(flags, rank, 0, chunk, True)


@few
@given(st.data())
def test_chunks_without_padding(data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, 3))
    content, chunk = data.draw(scalars(rank, longest=6)), data.draw(st.integers(1, 4))
    g = sg.Graph()
    g.output(g.input("x", SCALAR, shape(rank)).reshape(chunk=chunk, pad=None), "y")

    def cut(items: list[Any]) -> list[Any]:
        return [items[n : n + chunk] for n in range(0, len(items), chunk)]

    expected = models.on_groups(content, rank, 1, cut) if rank else cut(content)
    assert numbers_of(execute(g, {"x": content}), "y") == expected


@few
@given(st.data())
def test_reshape_of_an_outer_dim(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    dim = data.draw(st.integers(1, rank))
    chunk = data.draw(st.integers(1, 3))
    extent = chunk * data.draw(st.integers(1, 2))
    dims = list(shape(rank))
    dims[rank - dim] = sg.static(extent)
    leaf: st.SearchStrategy[Any] = st.integers(-5, 5)
    for level in range(rank + 1):
        size = {"min_size": extent, "max_size": extent} if level == dim else {"max_size": 3}
        leaf = st.lists(leaf, **size)
    content = data.draw(leaf)
    g = sg.Graph()
    g.output(g.input("x", SCALAR, dims).reshape(dim=dim, chunk=chunk), "y")
    expected = models.reshape(content, rank, dim, chunk, None)
    assert numbers_of(execute(g, {"x": content}), "y") == expected


@few
@given(st.data())
def test_split_and_concat(data: st.DataObject) -> None:
    """Of any dim, below and above groups that may be empty."""
    outer, inner = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 1))
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))

    whole = st.lists(
        scalars(inner - 1) if inner else st.integers(-99, 99),
        min_size=sum(sizes),
        max_size=sum(sizes),
    )
    for _ in range(outer):
        whole = st.lists(whole, max_size=3)
    content = data.draw(whole)
    g = sg.Graph()
    dims = shape(outer + inner)
    x = g.input("x", SCALAR, (*dims[:outer], sum(sizes), *dims[outer + 1 :]))
    parts = x.split(sizes, dim=inner)
    for n, part in enumerate(parts):
        g.output(part, f"y{n}")
    g.output(sg.concat(parts[::-1], dim=inner), "joined")
    result = execute(g, {"x": content})

    def each(change: Any) -> Any:
        return models.at_dim(content, outer + inner, inner, change)

    ends = [sum(sizes[:n]) for n in range(len(sizes) + 1)]
    for n in range(len(sizes)):
        wanted = each(lambda group, n=n: group[ends[n] : ends[n + 1]])
        assert numbers_of(result, f"y{n}") == wanted
    backward = list(pairwise(ends))[::-1]
    wanted = each(lambda group: [one for low, high in backward for one in group[low:high]])
    assert numbers_of(result, "joined") == wanted


@few
@given(st.data())
def test_promote(data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, 3))
    level = data.draw(st.integers(0, rank + 1))
    content = data.draw(scalars(rank))
    g = sg.Graph()
    g.output(g.input("x", SCALAR, shape(rank)).promote(level), "y")
    assert numbers_of(execute(g, {"x": content}), "y") == models.promote(content, rank, level)


def test_promote_is_outermost_by_default() -> None:
    for content in ([], [1], [1, 2]):
        g = sg.Graph()
        g.output(g.input("x", SCALAR, ("E",)).promote(), "y")
        expected = [content] if content else []
        assert numbers_of(execute(g, {"x": content}), "y") == expected


@few
@given(st.data())
def test_expand_by_reference(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    inner = data.draw(st.integers(1, rank))
    ref = data.draw(scalars(rank))
    numbers = iter(range(100))

    def one(_: Any) -> Any:
        item: Any = next(numbers)
        for _level in range(inner):
            item = [item]
        return item

    x = models.on_groups(ref, rank, inner, one)
    g = sg.Graph()
    dims = shape(rank)
    stream = g.input("x", SCALAR, (*dims[: len(dims) - inner], *(1,) * inner))
    g.output(stream.expand(g.input("ref", SCALAR, dims), rank=inner), "y")
    expected = models.expand(x, ref, rank, inner)
    assert numbers_of(execute(g, {"x": x, "ref": ref}), "y") == expected


@few
@given(scalars(2), st.integers(1, 3))
def test_expand_by_a_count(content: list[Any], count: int) -> None:
    ones = models.on_groups(content, 2, 0, lambda item: [item])
    g = sg.Graph()
    g.output(g.input("x", SCALAR, (*shape(2), 1)).expand(count=count), "y")
    expected = models.on_groups(content, 2, 0, lambda item: [item] * count)
    assert numbers_of(execute(g, {"x": ones}), "y") == expected


@few
@given(st.data())
def test_zip(data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, 2))
    x = data.draw(scalars(rank))
    y = models.on_groups(x, rank, 0, lambda item: item + 1)
    g = sg.Graph()
    dims = shape(rank)
    pairs = g.input("x", SCALAR, dims).zip(g.input("y", SCALAR, dims), name="pairs")
    g.output(pairs, "z")
    result = execute(g, {"x": x, "y": y})
    expected = models.on_groups(x, rank, 0, lambda item: (item, item + 1))
    assert numbers_of(result, "pairs.0") == expected
    assert [numbers_of(result, name) for name in ("z_0", "z_1")] == [x, y]


@pytest.mark.parametrize(
    ("y", "what"),
    [([[1]], "the end"), ([[1, 2], [3]], "stop"), ([[1], [], [2]], "empty group of level 1")],
)
@pytest.mark.usefixtures("unmatched")
def test_zip_of_streams_that_differ_names_both(y: list[Any], what: str) -> None:
    g = sg.Graph()
    a, b = (g.input(name, SCALAR, shape(1)) for name in ("left", "right"))
    g.output(a.zip(b, name="pair"), "z")
    with pytest.raises(sg.StepError) as caught:
        execute(g, {"left": [[1], [2]], "right": y})
    for part in ("pair", "left.0", "right.0", what):
        assert part in str(caught.value)


@pytest.mark.usefixtures("unmatched")
def test_expand_of_a_reference_that_ends_early_names_both() -> None:
    g = sg.Graph()
    x, ref = g.input("x", SCALAR, (*shape(1)[:1], 1)), g.input("ref", SCALAR, shape(1))
    g.output(x.expand(ref, rank=1, name="again"), "y")
    with pytest.raises(sg.StepError, match=r"again .*x\.0 .*ref\.0"):
        execute(g, {"x": [[1], [2]], "ref": [[1, 2]]})
