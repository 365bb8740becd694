"""Numbers of operators and functions in files: strict JSON, read back equal, infinite ones too."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import typing
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.hw.design.table import Design
from stepgen.ir.function import function, function_types
from stepgen.ir.operator import functions
from stepgen.ir.records import parsed, written
from stepgen.ir.text import dumps, loads

NUMBERS = (math.inf, -math.inf, -0.0, 5e-324, 1e308, -0.1, 3)


def strict(text: str) -> Any:
    """The value of a text that any reader of JSON takes."""

    def refuse(name: str) -> None:
        pytest.fail(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


def _is_number(hint: Any) -> bool:
    return hint is float or any(map(_is_number, typing.get_args(hint)))


def attributes() -> Iterator[tuple[str, str]]:
    """Every parameter of operators and functions that takes a number that may be infinite."""
    for name, operator in functions().items():
        hints = typing.get_type_hints(operator)
        for key in inspect.signature(operator).parameters:
            if _is_number(hints[key]):
                yield name, key
    for name, kind in function_types().items():
        if not kind.__module__.startswith("stepgen."):
            continue
        hints = typing.get_type_hints(kind)
        for field in dataclasses.fields(kind):
            if _is_number(hints[field.name]):
                yield name, field.name


USES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "accum": lambda x, at, n: x.accum(sg.fn.add(), rank=1, init=n),
    "scan": lambda x, at, n: x.scan(sg.fn.add(), rank=1, init=n),
    "reshape": lambda x, at, n: x.reshape(chunk=2, pad=n)[0],
    "compare": lambda x, at, n: x.map(sg.fn.compare("lt", n)),
    "mask_cols": lambda x, at, n: x.map(sg.fn.mask_cols(n), at),
    "mask_rows": lambda x, at, n: x.map(sg.fn.mask_rows(n), at),
    "where.then": lambda x, at, n: x.map(sg.fn.compare("lt"), x).map(sg.fn.where(then=n), x),
    "where.otherwise": lambda x, at, n: x.map(sg.fn.compare("lt"), x).map(
        sg.fn.where(otherwise=n), x
    ),
    "mask_causal": lambda x, at, n: x.map(sg.fn.mask_causal(n), at, at),
    "lookup": lambda x, at, n: x.map(sg.fn.convert("int8")).map(
        sg.fn.lookup((n,) * 256, to="bf16")
    ),
}
"""Operators, and functions whose use is not that of a function of one tile."""


def _program(name: str, key: str, number: float) -> sg.Graph:
    """One that uses the operator or function with the number."""
    g = sg.Graph("numbers")
    x, at = g.input("x", sg.bf16[1, 4], (5, 3)), g.input("at", sg.address[1, 1], (5, 3))
    use = USES.get(name) or USES.get(f"{name}.{key}")
    if use:
        y = use(x, at, number)
    else:
        y = x.map(function(name, **{key: abs(number) if name == "running_max" else number}))
    g.output(y, "y")
    g.output(at, "z")
    return g


@pytest.mark.parametrize(("name", "key"), [*attributes()])
def test_numbers_come_back_from_strict_json(name: str, key: str) -> None:
    for number in NUMBERS:
        g = _program(name, key, number)
        text = dumps(g)
        strict(text)
        assert loads(text) == g
        assert dumps(loads(text)) == text
    for number in (math.inf, -math.inf):
        design = lower(_program(name, key, number))
        again = Design.from_json(design.to_json())
        strict(design.to_json())
        assert (again, again.hash) == (design, design.hash)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.sampled_from(["inf", "-inf", "Infinity", "NaN"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text().filter("number".__ne__), inner),
)


@settings(max_examples=40)
@given(VALUES)
def test_any_value_comes_back(value: Any) -> None:
    text = written(value)
    strict(text)
    assert parsed(text, "the text", infinite=True) == value


def test_what_python_wrote_before_is_read() -> None:
    g = sg.Graph("before")
    g.output(g.input("x", sg.bf16[1, 4], (5,)).map(sg.fn.scale(-math.inf)), "y")
    text = dumps(g)
    old = text.replace('{\n      "number": "-inf"\n     }', "-Infinity")
    assert old != text
    assert loads(old) == g


@pytest.mark.parametrize(
    "value", ['{"number": "nan"}', '{"number": "1"}', '{"number": 3}', '{"number": []}', "NaN"]
)
def test_no_other_number_is_read(value: str) -> None:
    g = sg.Graph("other")
    g.output(g.input("x", sg.bf16[1, 4], (5,)).map(sg.fn.scale(0.5)), "y")
    with pytest.raises(sg.StepError, match=r"c must be a number|NaN is not a number"):
        loads(dumps(g).replace("0.5", value))
