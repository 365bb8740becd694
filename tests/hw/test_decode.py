"""Integers become addresses, and addresses selectors: model and circuit against integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from drawn import raises_error
from harness import beats, check, lone

import stepgen as sg
from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.table import Channel
from stepgen.hw.units.as_scalar.params import AsScalar
from stepgen.hw.units.decode.params import Decode
from stepgen.ir.errors import StepError
from stepgen.ir.stalls import Stalls
from stepgen.semantics import executor
from stepgen.timing.model import Fault, predict


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("consumers", [1, 2, 5])
def test_reference_model_and_circuit_agree_with_integers(consumers: int, lanes: int) -> None:
    rng = np.random.default_rng([consumers, lanes])
    g, count = sg.Graph("decoded"), 6
    given, due = {}, {}
    for element in ("int8", "int16", "int32"):
        name, most = element[3:], np.iinfo(element).max
        given[f"x{name}"] = rng.choice([0, 1, most, most // 3], (count, 1, 1)).astype(element)
        x = g.input(f"x{name}", getattr(sg, element)[1, 1], (count,))
        g.output(x.map(sg.fn.convert(sg.address)), f"y{name}")
        due[f"y{name}"] = given[f"x{name}"]
    given["at"] = rng.integers(0, consumers, (count, 1, 1))
    at = g.input("at", sg.address[1, 1], (count,))
    g.output(at.map(sg.fn.as_selector(consumers=consumers)), "chosen")
    due["chosen"] = np.eye(consumers, dtype=bool)[given["at"].ravel()]
    stalls = Stalls(lanes, {"at": 0.4, "y32": 0.6, "x8": 0.3})
    run = Experiment(g, given, lanes=lanes, stalls=stalls)
    for name, wanted in due.items():
        np.testing.assert_array_equal(run.reference.nested(name), wanted)
    check(
        run.design, run.beats, {n: run.reference.beats(n, lanes) for n in due}, stalls, aborts=[7]
    )


@pytest.mark.parametrize(
    ("dtype", "fn", "value", "message"),
    [
        (sg.int8[1, 1], sg.fn.convert("address"), -3, "gets -3, and addresses are at least 0"),
        (
            sg.address[1, 1],
            sg.fn.as_selector(consumers=3),
            3,
            "gets the address 3, a consumer that is not there",
        ),
    ],
)
def test_values_that_do_not_fit_are_named(dtype: Any, fn: Any, value: int, message: str) -> None:
    g = sg.Graph()
    g.output(g.input("x", dtype, (1,)).map(fn, name="use"), "y")
    with pytest.raises(StepError, match=rf"^use \(test_decode.py:\d+\): {fn.name}.* {message}"):
        executor.run(g, {"x": np.array([[[value]]])})


@pytest.mark.parametrize(("number", "wrong"), [(5, False), (-1, True)])
def test_an_integer_below_0_is_an_error(number: int, wrong: bool) -> None:
    design = lone(AsScalar("int8"), [Channel("x", 2, 8, 2)], [Channel("y", 1, 3, 0)])
    given = {"s_x": beats([([number, 0], 2)], 2, np.int8)}
    assert raises_error(design, given, limit=40) is wrong


def test_a_number_that_does_not_fit_the_wires_is_all_ones() -> None:
    design = lone(AsScalar("int8"), [Channel("x", 2, 8, 2, 5)], [Channel("y", 1, 3, 0, 5)])
    given = {"s_x": beats([([6, 0], 2), ([70, 0], 2)], 2, np.int8)}
    check(design, given, {"d_y": beats([([6], 0), ([7], 0)], 1, np.uint64)}, None)


def test_an_address_of_no_consumer_ends_the_run() -> None:
    design = lone(Decode(3), [Channel("x", 1, 4, 0, 5)], [Channel("y", 3, 1, 0, 5)])
    given = {"s_x": beats([([2], 0), ([3], 0)], 1, np.uint64)}
    assert raises_error(design, given, limit=40)
    with pytest.raises(Fault, match="dut gets the address 3, and has 3 consumers") as error:
        predict(design, given)
    (taken,) = error.value.stopped.pops["x"]  # the first beat; the other one is at the head then
    assert error.value.cycle == taken + 1


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        (AsScalar("f32"), "as_scalar dut: it takes flags or integers, not f32"),
        (AsScalar("int8"), "as_scalar dut: x must have tiles"),
        (Decode(0), "decode dut: a selector must have at least 1 bit, not 0"),
        (Decode(9), "decode dut: 3 bits can't number 9 consumers"),
        (Decode(3), "decode dut: y must be of rank 0 with 3 lanes of 1 bit, not"),
    ],
)
def test_what_can_not_be_built(unit: Any, message: str) -> None:
    with pytest.raises(StepError, match=f"^design lone: {message}"):
        lone(unit, [Channel("x", 1, 3, 0)], [Channel("y", 1, 3, 0)])
