"""Formulas of drawn pipelines say what their operations compute."""

from __future__ import annotations

import operator
import random

import pytest

from stepgen.hw.arithmetic.formulas import formula
from stepgen.hw.arithmetic.operations import Operation

DO = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "lt": operator.lt,
    "ge": operator.ge,
    "maximum": max,
    "minimum": min,
}


@pytest.mark.parametrize("seed", range(50))
def test_drawn_formulas_have_the_value_of_their_operations(seed: int) -> None:
    rng = random.Random(seed)
    given = {"x_0": 3, "x_1": -5}
    values, operations = list(given.values()), []
    for _ in range(rng.randint(0, 6)):
        if rng.random() < 0.2:
            operations.append(Operation("constant", (), "int32", (rng.randint(-9, 9),)))
            values.append(operations[-1].constants[0])
            continue
        name = rng.choice(list(DO))
        a, b = rng.randrange(len(values)), rng.randrange(len(values))
        operations.append(Operation(name, (a, b), "int32"))
        values.append(DO[name](values[a], values[b]))
    *known, result = formula(tuple(given), operations).split("; ")
    scope = given | {"maximum": max, "minimum": min}
    for one in known:
        exec(one, scope)
    assert eval(result, scope) == (values[-1] if operations else 3)


def test_formulas_as_people_read_them() -> None:
    gated = (
        Operation("silu", (0,), "f32"),
        Operation("multiply", (2, 1), "f32"),
        Operation("convert", (3,), "bf16"),
    )
    assert formula(("x_0", "x_1"), gated) == "bf16(silu(x_0) * x_1)"
    half = Operation("constant", (), "f32", (0x3F000000,))
    assert formula(("x",), (half, Operation("add", (0, 1), "f32"))) == "x + 0.5"
    scaled = Operation("requantize", (0,), "int8", (77, 9))
    assert formula(("x",), (scaled,)) == "requantize(x, 77, 9)"
    by = Operation("requantize_by", (0, 1, 2), "int8")
    assert formula(("x_0", "x_1", "x_2"), (by,)) == "requantize_by(x_0, x_1, x_2)"
