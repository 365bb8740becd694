from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stepgen as sg
from semantics import models
from semantics.programs import SCALAR, execute, numbers_of, scalars, shape
from stepgen.semantics.inputs import multi_hot

few = settings(max_examples=60)


def bits(chosen: Any, n: int) -> Any:
    return multi_hot([sorted(chosen)], n)[0]


@few
@given(st.data())
def test_partition(data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, 3))
    inner, n = data.draw(st.integers(0, rank)), data.draw(st.integers(1, 3))
    content = data.draw(scalars(rank))
    choice = st.sets(st.integers(0, n - 1))
    chosen: list[Any] = []

    def select(_: Any) -> Any:
        chosen.append(data.draw(choice))
        return bits(chosen[-1], n)

    sel = models.on_groups(content, rank, inner, select)
    g = sg.Graph()
    dims = shape(rank)
    x = g.input("x", SCALAR, dims)
    route = g.input("sel", sg.Selector(n), dims[: len(dims) - inner])
    for i, out in enumerate(sg.partition(x, route, rank=inner)):
        g.output(out, f"y{i}")
    result = execute(g, {"x": content, "sel": sel})
    expected = models.partition(content, rank, chosen, inner, n)
    assert [numbers_of(result, f"y{i}") for i in range(n)] == expected


@few
@given(st.data())
def test_reassemble(data: st.DataObject) -> None:
    inner, outer = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))
    n = data.draw(st.integers(1, 3))
    chosen = data.draw(_nested_sets(outer, n))
    counts = [0] * n
    for group in models.groups(chosen, outer, 0):
        for i in group:
            counts[i] += 1
    group = scalars(inner - 1) if inner else st.integers(-5, 5)
    xs = [data.draw(st.lists(group, min_size=c, max_size=c)) for c in counts]
    g = sg.Graph()
    inner_dims = tuple(sg.ragged(f"B{k}") for k in range(inner))
    streams = [g.input(f"x{i}", SCALAR, (sg.dynamic(f"E{i}"), *inner_dims)) for i in range(n)]
    sel = g.input("sel", sg.Selector(n), shape(outer, "S"))
    g.output(sg.reassemble(streams, sel, rank=inner), "y")
    inputs = {f"x{i}": x for i, x in enumerate(xs)}
    inputs["sel"] = models.on_groups(chosen, outer, 0, lambda c: bits(c, n))
    expected = models.reassemble(xs, chosen, outer)
    assert numbers_of(execute(g, inputs), "y") == expected


def _nested_sets(rank: int, n: int) -> st.SearchStrategy[list[Any]]:
    strategy: st.SearchStrategy[Any] = st.frozensets(st.integers(0, n - 1))
    for _ in range(rank + 1):
        strategy = st.lists(strategy, max_size=3)
    return strategy


@few
@given(st.data())
def test_reassemble_undoes_partition(data: st.DataObject) -> None:
    content = data.draw(scalars(2))
    sel = [bits({data.draw(st.integers(0, 2))}, 3) for _ in content]
    g = sg.Graph()
    x, route = g.input("x", SCALAR, shape(2)), g.input("sel", sg.Selector(3, hot=1), shape(2)[:1])
    parts = sg.partition(x, route, rank=2)
    g.output(sg.reassemble(parts, route, rank=2), "y")
    y = numbers_of(execute(g, {"x": content, "sel": sel}), "y")
    assert y == [[item] for item in content]


def _merge(contents: list[Any], rank: int, **options: Any) -> tuple[Any, list[int]]:
    g = sg.Graph()
    inner = tuple(sg.ragged(f"B{k}") for k in range(rank))
    names = [f"x{i}" for i in range(len(contents))]
    xs = [g.input(name, SCALAR, (sg.dynamic(f"E{name}"), *inner)) for name in names]
    data, sel = sg.eager_merge(xs, rank=rank, name="merge")
    g.output(data, "data")
    g.output(sel, "sel")
    result = execute(g, dict(zip(names, contents, strict=True)), **options)
    return numbers_of(result, "data"), [int(np.flatnonzero(s)[0]) for s in result.nested("sel")]


@few
@given(st.data())
def test_eager_merge_replays_any_order(data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, 2))
    contents = data.draw(st.lists(scalars(rank), min_size=1, max_size=3))
    order = [i for i, content in enumerate(contents) for _ in content]
    order = list(data.draw(st.permutations(order)))
    queues = [iter(content) for content in contents]
    merged, names = _merge(contents, rank, choices={"merge": order})
    assert names == order
    assert merged == [next(queues[i]) for i in order]


def test_eager_merge_goes_by_index_where_no_order_is_given() -> None:
    assert _merge([[1, 2], [], [3]], 0) == ([1, 2, 3], [0, 0, 2])


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ([0], "ends before the inputs do"),
        ([0, 0, 0, 1], "merge.*names input 0, which has ended"),
        ([0, 7, 1], "input 7"),
    ],
)
def test_an_impossible_order_of_arrival(order: list[int], message: str) -> None:
    with pytest.raises(sg.StepError, match=message):
        _merge([[1, 2], [3]], 0, choices={"merge": order})


def test_an_order_of_arrival_that_is_over_before_the_ends_have_come() -> None:
    """In a loop the end of an input follows from the last chunk that was merged."""
    g = sg.Graph()
    enters = g.input("enters", sg.Selector(2, hot=1), ("S",))
    back = g.feedback(SCALAR, ("B",), "back")
    x = sg.reassemble([g.input("x", SCALAR, ("N",)), back], enters, rank=0).flatten(0, 1)
    ways = g.feedback(sg.Selector(2), x.shape[:1], "turns")
    merged, _ = sg.eager_merge(sg.partition(x, ways, rank=0), rank=0, name="merge")
    ways.connect(g.input("ways", sg.Selector(2), ("W",)))
    leaves = g.feedback(sg.Selector(2), merged.shape[:1], "exits")
    out, again = sg.partition(merged, leaves, rank=0)
    leaves.connect(g.input("leaves", sg.Selector(2), ("L",)))
    back.connect(again)
    g.output(out, "y")
    inputs = {"x": [1, 2], "enters": [[1, 0], [0, 1], [1, 0]], "ways": [[0, 1], [1, 0], [0, 1]]}
    inputs["leaves"] = [[0, 1], [1, 0], [1, 0]]
    for choices in ({}, {"merge": [1, 0, 1]}):
        assert numbers_of(execute(g, inputs, choices=choices), "y") == [1, 2]


def test_reassemble_in_order_of_arrival() -> None:
    g = sg.Graph()
    xs = [g.input(f"x{i}", SCALAR, (sg.dynamic(f"E{i}"), sg.ragged("B"))) for i in range(2)]
    sel = g.input("sel", sg.Selector(2), ("S",))
    g.output(sg.reassemble(xs, sel, rank=1, order="arrival", name="back"), "y")
    inputs = {"x0": [[1, 2], []], "x1": [[3], [4]], "sel": [[1, 1], [0, 0], [1, 1]]}
    y = numbers_of(execute(g, inputs, choices={"back": [1, 0, 0, 1]}), "y")
    assert y == [[[3], [1, 2]], [], [[], [4]]]
    with pytest.raises(sg.StepError, match=r"back .*\[0, 0\], does not fit inputs \[0, 1\]"):
        execute(g, inputs, choices={"back": [0, 0, 1, 1]})


@pytest.mark.usefixtures("unmatched")
def test_partition_with_too_few_selectors_names_both() -> None:
    g = sg.Graph()
    x, route = g.input("x", SCALAR, ("E",)), g.input("route", sg.Selector(2), ("E",))
    for i, out in enumerate(sg.partition(x, route, rank=0, name="split")):
        g.output(out, f"y{i}")
    for route_content in ([[1, 0]], [[1, 0]] * 3):
        with pytest.raises(sg.StepError, match=r"split .*x\.0 .*route\.0"):
            execute(g, {"x": [1, 2], "route": route_content})


@pytest.mark.usefixtures("unmatched")
def test_partition_by_selectors_of_another_structure_names_both() -> None:
    g = sg.Graph()
    x, route = g.input("x", SCALAR, shape(1)), g.input("route", sg.Selector(1), shape(1))
    g.output(sg.partition(x, route, rank=0, name="split")[0], "y")
    with pytest.raises(sg.StepError, match=r"split .*x\.0 .* token 1 .*route\.0"):
        execute(g, {"x": [[1, 2], [3]], "route": [[[1], [1], [1]]]})


@pytest.mark.parametrize(("x1", "message"), [([], r"x1\.0 gives the end"), ([1, 2], "chunk left")])
def test_reassemble_of_a_wrong_number_of_chunks(x1: list[int], message: str) -> None:
    g = sg.Graph()
    xs = [g.input(f"x{i}", SCALAR, (sg.dynamic(f"E{i}"),)) for i in range(2)]
    g.output(sg.reassemble(xs, g.input("s", sg.Selector(2), ("S",)), rank=0, name="back"), "y")
    with pytest.raises(sg.StepError, match=f"back .*{message}"):
        execute(g, {"x0": [5], "x1": x1, "s": [[1, 1]]})
