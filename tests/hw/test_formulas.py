"""Formulas of drawn pipelines say what their operations compute."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable

import pytest
from seeds import some_slow

from stepgen.hw.arithmetic.formulas import formula
from stepgen.hw.arithmetic.operations import Operation
from stepgen.hw.arithmetic.pipeline import Lane, written
from stepgen.ir.dtypes import ElementType, Tile, bf16, f32, int8, int32
from stepgen.ir.errors import StepError

DO = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "lt": operator.lt,
    "ge": operator.ge,
    "maximum": max,
    "minimum": min,
}


@pytest.mark.parametrize("seed", some_slow(range(50), 8))
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


@pytest.mark.parametrize(
    ("function", "element", "reads"),
    [
        (lambda x: 1.5 - x, f32, "1.5 - x"),
        (lambda x: 1 + 2 * x, f32, "(x * 2.0) + 1.0"),
        (lambda x: 3 / x, bf16, "3.0 / x"),
        (lambda x: -x, f32, "x * -1.0"),
        (lambda x: -x, int8, "0 - x"),
    ],
)
def test_numbers_stand_on_either_side(
    function: Callable[[Lane], Lane], element: ElementType, reads: str
) -> None:
    pipeline = written(function, [Tile(1, 1, element)])
    assert pipeline is not None
    assert formula(("x",), pipeline.operations) == reads


@pytest.mark.parametrize(
    ("function", "element", "message"),
    [
        (lambda x: x / x, int8, "divide: it does not make int8 of int8 and int8"),
        (lambda x: x + 0.5, int8, "a number of int8 must be whole, not 0.5"),
        (lambda x: x.maximum(float("nan")), int32, "a number of int32 must be whole, not nan"),
        (lambda x: x.lookup([0.7] * 256, int8), int8, "a number of int8 must be whole, not 0.7"),
        (lambda x: x.requantize(-3, 40), int32, "the multiplier must be at least 1, not -3"),
        (lambda x: 3, int8, "a lane is to be returned, or None, not 3"),
    ],
)
def test_what_no_circuit_does_is_refused_where_it_is_written(
    function: Callable[[Lane], Lane], element: ElementType, message: str
) -> None:
    with pytest.raises(StepError, match=f"^(requantize: )?{message}$"):
        written(function, [Tile(1, 1, element)])
