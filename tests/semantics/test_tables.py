from __future__ import annotations

from math import erfc
from typing import Any

import numpy as np
import pytest

from semantics.drawn import floats
from stepgen.ir.errors import StepError
from stepgen.semantics import numbers, tables

TRUE = {
    "exp": np.exp,
    "reciprocal": lambda x: 1 / x,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "tanh": np.tanh,
    "silu": lambda x: np.where(x < 0, x * np.exp(x) / (1 + np.exp(x)), x / (1 + np.exp(-x))),
    "gelu": lambda x: x * np.vectorize(erfc)(-x / 2**0.5) / 2,
}
TRUE["gelu_tanh"] = lambda x: (
    TRUE["silu"]((8 / np.pi) ** 0.5 * (x + 0.044715 * x**3))
    / ((8 / np.pi) ** 0.5 * (1 + 0.044715 * x**2))
)
LARGEST = {"bf16": (2 - 2.0**-7) * 2.0**127, "f32": (2 - 2.0**-23) * 2.0**127}


def arguments(name: str) -> Any:
    """Every bf16; floats of all magnitudes and many in the range where functions bend."""
    if name == "bf16":
        return numbers.canonical(np.arange(1 << 16, dtype=np.uint16).view(numbers.bfloat16))
    rng = np.random.default_rng(11)
    bent = rng.standard_normal(60_000) * np.exp2(rng.uniform(-3, 6, 60_000))
    return numbers.canonical(
        np.concatenate([floats(rng, (60_000,), name), bent.astype(np.float32)])
    )


def check(got: Any, true: Any, name: str, most: float) -> None:
    """Check that results differ by at most `most` ulp, and limits outside the format."""
    got = got.astype(np.float64)
    with np.errstate(all="ignore"):
        inside = np.isfinite(true) & (np.abs(true) >= 2.0**-126) & (np.abs(true) <= LARGEST[name])
        unit = np.ldexp(1.0, np.frexp(true)[1] - 1 - numbers.MANTISSA[name])
        error = np.abs(got - true) / unit
        assert error[inside].max() <= most
        tiny = np.abs(true) < 2.0**-126 * (1 - 2.0**-8)
        assert (got[tiny] == 0).all()
        assert (np.signbit(got[tiny]) == np.signbit(true[tiny])).all()
        assert (got[np.isinf(true)] == true[np.isinf(true)]).all()
        assert (np.isnan(got) == np.isnan(true)).all()


@pytest.mark.parametrize("name", ["bf16", "f32"])
@pytest.mark.parametrize("function", tables.FUNCTIONS)
def test_error_in_ulp(function: str, name: str) -> None:
    x = arguments(name)
    with np.errstate(all="ignore"):
        true = TRUE[function](x.astype(np.float64))
        if function in ("silu", "gelu", "gelu_tanh"):
            true = np.where(x == -np.inf, -0.0, np.where(x == np.inf, np.inf, true))
            true = np.where(x == 0, x.astype(np.float64), true)
            true = np.where((x < -200) & np.isfinite(x), -0.0, true)
    check(tables.apply(function, x), true, name, tables.MAX_ULP[function][name])


@pytest.mark.parametrize("name", ["bf16", "f32"])
def test_division_in_ulp(name: str) -> None:
    x = arguments(name)
    y = np.random.default_rng(2).permutation(x)
    with np.errstate(all="ignore"):
        true = x.astype(np.float64) / y.astype(np.float64)
    check(tables.div(x, y), true, name, tables.MAX_ULP["div"][name])
    x = x[np.isfinite(x) & (x != 0)]
    assert (tables.div(x, x) == 1).all()


@pytest.mark.parametrize("name", ["bf16", "f32"])
def test_exact_points(name: str) -> None:
    def at(function: str, *xs: float) -> list[float]:
        return [float(v) for v in tables.apply(function, numbers.as_element(xs, name))]

    assert at("exp", 0, -0.0) == [1, 1]
    assert at("reciprocal", 1, -4) == [1, -0.25]
    assert at("sqrt", 1, 4, 9, 64) == [1, 2, 3, 8]
    assert at("rsqrt", 4, 0.25) == [0.5, 2]
    assert at("tanh", 20, -20) == [1, -1]
    assert at("silu", 0, 100) == [0, 100]
    assert at("gelu", 0, 100) == [0, 100]
    assert at("gelu_tanh", 0, 100) == [0, 100]


@pytest.mark.parametrize("function", ["exp", "tanh", "sqrt"])
def test_rising_functions_never_fall(function: str) -> None:
    x = arguments("bf16")
    x = x[np.isfinite(x)]
    x = np.sort(x[(x >= 0) | (function != "sqrt")])
    y = tables.apply(function, x).astype(np.float64)
    assert (y[1:] >= y[:-1]).all()


def test_integers_have_no_tables() -> None:
    with pytest.raises(StepError, match="silu works on bf16 and f32, not on int8"):
        tables.apply("silu", np.zeros((1, 1), np.int8))
