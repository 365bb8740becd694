"""Arithmetic and comparisons of addresses: model and circuit against integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from drawn import raises_error
from harness import beats, check, lone
from seeds import some_slow

import stepgen as sg
from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.table import Channel
from stepgen.hw.units.calculate.params import Calculate
from stepgen.ir.errors import StepError
from stepgen.ir.stalls import Stalls
from stepgen.semantics import executor
from stepgen.timing.model import Fault, predict

RELATIONS: dict[str, Any] = {
    "lt": np.less,
    "le": np.less_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "ge": np.greater_equal,
    "gt": np.greater,
}


def program(columns: int) -> tuple[sg.Graph, dict[str, Any]]:
    """All operations on rows of addresses, with what they make by numpy; flags of single ones."""
    g, count = sg.Graph("calculated"), 7
    a = np.array([0, 1, 3, 3, 6, 8, 2])[:, None, None] + np.arange(columns)
    b = np.array([5, 1, 2, 3, 0, 9, 70000])[:, None, None]
    x, y = g.input("a", sg.address[1, columns], (count,)), g.input("b", sg.address[1, 1], (count,))
    made = {
        "sum": (x.map(sg.fn.add(), y), a + b),
        "higher": (y.map(sg.fn.maximum(), x), np.maximum(a, b)),
        "lower": (y.map(sg.fn.minimum(), x), np.minimum(a, b)),
        "up": (x.map(sg.fn.offset(3)), a + 3),
        "least": (x.map(sg.fn.at_least(3)), np.maximum(a, 3)),
        "most": (x.map(sg.fn.at_most(3)), np.minimum(a, 3)),
        **{f"times{n}": (x.map(sg.fn.scale(n)), a * n) for n in (0, 1, 6, 8)},
    }
    if columns == 1:
        made["less"] = x.map(sg.fn.add(), y).map(sg.fn.sub(), x), b
        made["down"] = x.map(sg.fn.offset(3)).map(sg.fn.offset(-2)), a + 1
        made["pair"] = x.map(sg.fn.as_range(), y), np.concatenate([a, b], axis=2)
        for op, relation in RELATIONS.items():
            made[op] = x.map(sg.fn.compare(op), y), relation(a, b)
            made[f"{op}3"] = x.map(sg.fn.compare(op, 3)), relation(a, 3)
    for name, (stream, _) in made.items():
        g.output(stream, f"y_{name}")
    return g, {"a": a, "b": b} | {f"y_{name}": due for name, (_, due) in made.items()}


@pytest.mark.parametrize(("columns", "lanes"), some_slow([(3, 4), (1, 4), (1, 1), (3, 1)], 1))
def test_reference_model_and_circuit_agree_with_integers(columns: int, lanes: int) -> None:
    g, known = program(columns)
    names = [name for name in known if name.startswith("y_")]
    stalls = Stalls(lanes, {"a": 0.3, "b": 0.5, names[0]: 0.6, names[-1]: 0.3})
    run = Experiment(g, {name: known[name] for name in "ab"}, lanes=lanes, stalls=stalls)
    for name in names:
        np.testing.assert_array_equal(run.reference.nested(name), known[name])
    due = {name: run.reference.beats(name, lanes) for name in names}
    check(run.design, run.beats, due, stalls, aborts=[9])


def alone(params: Calculate, *operands: int, bits: int = 3) -> tuple[Any, dict[str, Any]]:
    """A unit between wires of so many bits, and a beat of each operand."""
    made = 1 if params.makes_flags else bits
    ports = [Channel(name, 1, bits, 0, 3) for name in params.inputs]
    out = Channel("y", 1, made, 0, 3, params.delay(1))
    given = {
        f"s_{name}": beats([([number], 0)], 1, np.uint64)
        for name, number in zip(params.inputs, operands, strict=True)
    }
    return lone(params, ports, [out], lanes=1), given


@pytest.mark.parametrize(
    ("params", "operands", "made"),
    [
        (Calculate("sum", (1,), 5), [2], 7),
        (Calculate("sum", (1,), 99), [1], 7),
        (Calculate("sum", (1, 1)), [5, 6], 7),
        (Calculate("sum", (1, 1)), [7, 0], 7),
        (Calculate("product", (1,), 3), [7], 7),
        (Calculate("product", (1,), 3), [2], 6),
        (Calculate("product", (1,), 8), [1], 7),
        (Calculate("product", (1,), 0), [7], 0),
        (Calculate("larger", (1,), 99), [2], 7),
        (Calculate("smaller", (1,), 99), [2], 2),
        (Calculate("smaller", (1, 1)), [7, 3], 3),
        (Calculate("lt", (1, 1)), [3, 7], 1),
        (Calculate("ge", (1,), 6), [7], 1),
    ],
    ids=str,
)
def test_all_ones_stand_for_any_number_that_is_too_large(
    params: Calculate, operands: list[int], made: int
) -> None:
    design, given = alone(params, *operands)
    dtype = np.bool_ if params.makes_flags else np.uint64
    check(design, given, {"d_y": beats([([made], 0)], 1, dtype)}, None)


@pytest.mark.parametrize(
    ("params", "operands", "number"),
    [
        (Calculate("difference", (1,), 3), [2], 2),
        (Calculate("difference", (1,), 3), [7], 7),
        (Calculate("difference", (1, 1)), [4, 5], 4),
        (Calculate("eq", (1, 1)), [7, 7], 7),
    ],
    ids=str,
)
def test_what_has_no_result_ends_the_run(
    params: Calculate, operands: list[int], number: int
) -> None:
    design, given = alone(params, *operands)
    assert raises_error(design, given, limit=40)
    with pytest.raises(Fault, match=f"dut gets the number {number}, and takes numbers below 7"):
        predict(design, given)


@pytest.mark.parametrize(
    ("fn", "operands", "message"),
    [
        (sg.fn.offset(-3), [2], "2 and -3 make -1, but addresses are 0 to 18446744073709551615"),
        (sg.fn.sub(), [2, 5], "2 and 5 make -3, but addresses are 0 to"),
        (sg.fn.add(), [2**64 - 1, 1], f"{2**64 - 1} and 1 make {2**64}, but addresses are"),
        (sg.fn.scale(2), [2**63], f"{2**63} and 2 make {2**64}, but addresses are 0 to"),
    ],
    ids=str,
)
def test_results_that_are_no_addresses_are_named(
    fn: Any, operands: list[int], message: str
) -> None:
    g = sg.Graph()
    first, *others = (g.input(f"x{n}", sg.address[1, 1], (1,)) for n in range(len(operands)))
    g.output(first.map(fn, *others, name="use"), "y")
    with pytest.raises(sg.StepError, match=rf"^use \(test_calculate.py:\d+\): {message}"):
        executor.run(g, {f"x{n}": np.array([[[x]]], np.uint64) for n, x in enumerate(operands)})


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        (Calculate("sum", (1,)), "sum takes 2 operands, one of which may be a constant"),
        (Calculate("product", (1, 1)), "a product needs a constant"),
        (Calculate("sum", (1,), -1), "a constant must be at least 0, not -1"),
        (Calculate("sum", (2, 3)), "beats of 2 and 3 addresses don't match"),
        (Calculate("lt", (2, 2)), "2 flags are not a beat"),
        (Calculate("lt", (1,), 7), "3 bits can't be compared with 7"),
        (Calculate("sum", (2,), 1), "x must be of rank 0 with 2 lanes of 3 bits"),
    ],
)
def test_what_can_not_be_built(unit: Calculate, message: str) -> None:
    ports = [Channel(name, 1, 3, 0) for name in unit.inputs]
    with pytest.raises(StepError, match=f"^design lone: calculate dut: {message}"):
        lone(unit, ports, [Channel("y", 1, 3, 0)])
