from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from work import worked

import stepgen as sg
from semantics.programs import SCALAR, execute, numbers_of
from stepgen.compile.lower import lower
from stepgen.cosim.experiment import Experiment
from stepgen.ir.system import SystemGraph
from stepgen.program.tiles import simulate
from stepgen.semantics.executor import run
from stepgen.semantics.inputs import multi_hot
from stepgen.semantics.shapes import measure
from stepgen.semantics.tokens import bare, encode
from stepgen.timing.tiles.machines import SDA

STARTS: dict[str, Callable[[sg.Graph, Mapping[str, Any]], object]] = {
    "run": run,
    "simulate": lambda graph, inputs: simulate(graph, inputs, SDA),
    "time": lambda graph, inputs: Experiment(graph, inputs).prediction,
}
"""What takes a program and its inputs."""


def dynamic_parallelization(regions: int, first: int | None = None) -> sg.Graph:
    """The paper's third optimization: requests go to whichever region becomes free."""
    g = sg.Graph("parallel")
    x = g.input("x", SCALAR, ("N",))
    start = g.input("first", sg.Selector(regions, hot=1), (first or regions,))
    order = g.feedback(sg.Selector(regions, hot=1), ("N",), "order")
    parts = sg.partition(x, order, rank=0, name="dispatch")
    done = [part.map(sg.fn.offset(10 * i)) for i, part in enumerate(parts)]
    y, free = sg.eager_merge(done, rank=0, name="collect")
    again, _ = sg.eager_merge([start, free], rank=0, name="orders")
    order.connect(again)
    g.output(y, "y")
    g.output(free, "where")
    return g


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 40])
@pytest.mark.parametrize("regions", [1, 2, 4])
def test_a_cycle_runs_to_its_end(regions: int, count: int) -> None:
    g = dynamic_parallelization(regions)
    content = list(range(count))
    result = execute(g, {"x": content, "first": np.eye(regions, dtype=bool)})
    where = [int(np.flatnonzero(s)[0]) for s in result.nested("where")]
    plain = [y - 10 * i for y, i in zip(numbers_of(result, "y"), where, strict=True)]
    assert sorted(plain) == content
    if count >= 4 * regions:
        assert min(where.count(i) for i in range(regions)) >= count // regions - 1, "all take turns"


def test_a_cycle_gives_the_same_every_time() -> None:
    runs = [
        run(dynamic_parallelization(3), {"x": list(range(9)), "first": np.eye(3, dtype=bool)})
        for _ in range(2)
    ]
    assert runs[0].streams == runs[1].streams


def test_a_cycle_replays_an_order_of_arrival() -> None:
    """Region 1 is fast: it takes all requests but the one that region 0 works on."""
    g = dynamic_parallelization(2)
    choices = {"orders": [0, 0, 1, 1, 1, 1, 1], "collect": [1, 1, 1, 1, 0]}
    result = execute(g, {"x": [0, 1, 2, 3, 4], "first": np.eye(2, dtype=bool)}, choices=choices)
    assert numbers_of(result, "y") == [11, 12, 13, 14, 0]


def test_inputs_of_a_merge_on_a_cycle_take_turns() -> None:
    """The end of region 0's first request is merged between the first orders 0, 0 and 1."""
    g = dynamic_parallelization(2, first=3)
    result = execute(g, {"x": list(range(6)), "first": [[1, 0], [1, 0], [0, 1]]})
    where = [int(np.flatnonzero(s)[0]) for s in result.nested("where")]
    assert where == [0, 0, 0, 0, 1, 0]


def test_a_program_that_cannot_finish_names_what_each_operator_waits_for() -> None:
    g = sg.Graph()
    x = g.input("x", SCALAR, ("N",))
    back = g.feedback(SCALAR, ("N",), "back")
    turns = g.input("turns", sg.Selector(2, hot=1), ("N",))
    y = sg.reassemble([x, back], turns, rank=0, name="joined").flatten(0, 1)
    out, again = sg.partition(y, g.input("ways", sg.Selector(2), ("N",)), rank=0, name="split")
    back.connect(again.map(sg.fn.offset(1), name="next"))
    g.output(out, "y")
    with pytest.raises(sg.StepError, match=r"can't finish: .*joined waits for next\.0"):
        run(g, {"x": [1], "turns": [[0, 1]], "ways": [[1, 0]]})


def test_a_feedback_that_is_not_connected() -> None:
    g = sg.Graph()
    loop = g.feedback(SCALAR, ("N",), "loop")
    g.output(loop.map(sg.fn.offset(1), name="next"), "y")
    with pytest.raises(sg.StepError, match=r"next .* reads .*loop.* not connected"):
        run(g, {})


def test_a_deep_chain_takes_little_work() -> None:
    g = sg.Graph()
    x = g.input("x", SCALAR, ("N",))
    y = x
    for _ in range(100):
        y = y.map(sg.fn.offset(1))
    g.output(y, "y")
    result, calls = worked(lambda: run(g, {"x": [0] * 100}))
    assert numbers_of(result, "y") == [100] * 100
    assert calls < 1_000_000


def scalars_program() -> sg.Graph:
    g = sg.Graph("plus")
    g.output(g.input("x", SCALAR, ("N", 2)).map(sg.fn.offset(1)), "y")
    return g


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([[1, 2], [3, 4]], [[2, 3], [4, 5]]),
        (np.array([[1, 2]]), [[2, 3]]),
        (np.ones((2, 2, 1, 1)), [[2, 2], [2, 2]]),
        (encode([[np.array([[5]]), np.array([[6]])]], 1), [[6, 7]]),
        ([], []),
    ],
)
def test_forms_of_the_contents_of_a_stream(content: Any, expected: Any) -> None:
    assert numbers_of(run(scalars_program(), {"x": content}), "y") == expected


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "the input x of the program plus was not given"),
        ({"x": [], "z": 1}, "has no input or tensor 'z', those are x"),
        ({"x": [[1, 2, 3]]}, r"x of shape \[N, 2\] has 3 items in dim D0 instead of 2"),
        ({"x": [1, 2]}, r"x of shape \[N, 2\]: encode: a rank-1 stream needs lists nested 2 deep"),
        ({"x": [[1, 200]]}, "a tile of x holds 200, which does not fit into int8"),
        ({"x": np.ones((1, 2, 1, 3))}, "x is made of tiles int8 1x1, not of 1x3"),
        ({"x": [bare(1, 1)]}, "x, rank 1, token 1: the stream ends without DONE"),
    ],
)
def test_inputs_that_do_not_fit(inputs: dict[str, Any], message: str) -> None:
    with pytest.raises(sg.StepError, match=message):
        run(scalars_program(), inputs)


@pytest.mark.parametrize(
    ("selectors", "message"),
    [
        ([[1, 0, 0]], "x is made of selectors of 2 bits, not of 3"),
        ([[1, 1]], "selectors with 1 bits set, not 2"),
        ([[2, 0]], "a selector of x holds something else than booleans"),
    ],
)
def test_selectors_that_do_not_fit(selectors: Any, message: str) -> None:
    g = sg.Graph()
    g.output(g.input("x", sg.Selector(2, hot=1), ("N",)), "y")
    with pytest.raises(sg.StepError, match=message):
        run(g, {"x": selectors})


def test_extents_that_the_type_rules_out() -> None:
    g = sg.Graph()
    dims = (sg.dynamic("N", bound=2), sg.dynamic("M", positive=True))
    g.output(g.input("x", SCALAR, dims), "y")
    for content, message in (
        ([[1], [2], [3]], "3 items in dim D1, more than the 2 that N can be"),
        ([[]], "empty dim D0, but M is at least 1"),
        ([[1], [2, 3]], "1 and 2 items in dim D0, but M is regular"),
    ):
        with pytest.raises(sg.StepError, match=message):
            run(g, {"x": content})


def test_multi_hot() -> None:
    assert multi_hot([[0, 2], [], [1]], 3).tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0]]
    for chosen, message in (([[0], [3]], "selector 1 chooses 3"), ([[1, 1]], "1 twice")):
        with pytest.raises(sg.StepError, match=message):
            multi_hot(chosen, 3)


@pytest.mark.parametrize(
    ("shape", "x", "y", "message"),
    [
        (("N",), [1, 2], [1, 2, 3], "y of program has N = 3, but the input x has N = 2"),
        (
            (sg.dynamic("N"), sg.ragged("K")),
            [[1], [1, 2], []],
            [[1], [1], [1]],
            "y of program has K = 1 in group 1, but the input x has K = 2",
        ),
        (
            (sg.dynamic("N"), sg.dynamic("M"), 1),
            [[[1]], [[2]]],
            [[[1], [2]]],
            "y of program has N = 1, but the input x has N = 2",
        ),
    ],
)
@pytest.mark.parametrize("start", ["run", "simulate", "time"])
def test_inputs_that_differ_in_a_dim_of_one_name(
    shape: Any, x: Any, y: Any, message: str, start: str
) -> None:
    g = sg.Graph()
    g.output(g.input("x", SCALAR, shape).map(sg.fn.add(), g.input("y", SCALAR, shape)), "z")
    inputs = {"x": x, "y": y}
    with pytest.raises(sg.StepError, match=f"the input {message}"):
        STARTS[start](g, inputs)


def test_ragged_dims_of_other_groups_may_differ() -> None:
    g = sg.Graph()
    for name, outer in (("x", "N"), ("y", "M")):
        g.output(g.input(name, SCALAR, (outer, sg.ragged("K"))), f"{name}_out")
    execute(g, {"x": [[1], [2, 3]], "y": [[], [1], [2]]})


@pytest.mark.usefixtures("unmatched")
def test_measure_finds_a_type_that_the_run_contradicts() -> None:
    g = sg.Graph()
    x = g.input("x", SCALAR, ("N",))
    y = g.input("y", SCALAR, ("N",))
    g.output(x, "a")
    g.output(y, "b")
    with pytest.raises(sg.StepError, match=r"dim D0 of y\.0: N is 3 here but 2 elsewhere"):
        measure(g, run(g, {"x": [1, 2], "y": [1, 2, 3]}))


def test_measure_finds_an_expression_that_does_not_give_what_was_counted() -> None:
    g = sg.Graph()
    g.output(g.input("x", SCALAR, ("N",)).reshape(chunk=2)[0], "y")
    result = run(g, {"x": [1, 2, 3]})
    assert {str(symbol): n for symbol, n in measure(g, result).items()} == {"N": 3}
    result.streams["reshape_0.0"] = result.streams["reshape_0.0"][2:]
    with pytest.raises(sg.StepError, match=r"reshape_0\.0: ceil\(N/2\) is 2 .* there are 1"):
        measure(g, result)


@pytest.mark.parametrize("lanes", [-4, 0, 3, 33, 64, 1 << 40])
def test_lanes_are_those_of_a_circuit(lanes: int) -> None:
    message = f"lanes must be a power of two up to 32, not {lanes}"
    program = scalars_program()
    for asked in (
        lambda: run(program, {"x": []}, lanes=lanes),
        lambda: run(program, {"x": []}).beats("x.0", lanes),
        lambda: lower(program, lanes=lanes),
        lambda: SystemGraph({"one": program}, {}, lanes=lanes),
    ):
        with pytest.raises(
            sg.StepError, match=message.replace("lanes must", r"lanes( of one)? must")
        ):
            asked()
