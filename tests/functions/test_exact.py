"""What functions mean on real numbers agrees with what they compute in f32."""

from __future__ import annotations

import numpy as np
import pytest

from stepgen.functions.bases import Binary, Unary
from stepgen.ir.dims import static
from stepgen.ir.dtypes import Tile, f32
from stepgen.ir.function import function_types
from stepgen.ir.setting import Setting


def _made() -> list[Unary | Binary]:
    found = []
    for kind in function_types().values():
        plain = issubclass(kind, Unary | Binary) and f32 in kind.elements and not kind.converts
        if plain and "exact" in vars(kind):
            constant = "c" in kind.__dataclass_fields__
            found.append(kind(0.75) if constant else kind())
    return found


@pytest.mark.parametrize("fn", _made(), ids=lambda fn: fn.name)
def test_the_meaning_on_real_numbers_is_that_of_f32(fn: Unary | Binary) -> None:
    rng = np.random.default_rng(3)
    xs = [np.exp(rng.normal(0, 1, (5, 40))).astype(np.float32) for _ in range(fn.arity)]
    with np.errstate(invalid="ignore"):
        of_negative = fn.exact(np.array([-1.0]), *[np.array([1.0])] * (fn.arity - 1))
    if np.isfinite(of_negative):
        xs[0] *= rng.choice(np.float32([-1, 1]), xs[0].shape)
    at = Setting(Tile(static(5), static(40), f32), np.dtype(np.float32), 4)
    got = fn.compute(at, *xs).astype(np.float64)
    true = fn.exact(*(x.astype(np.float64) for x in xs))
    assert true.dtype == np.float64
    assert np.abs(got - true).max() <= 1e-6 * np.abs(true).max()


def test_functions_of_elements_have_a_meaning_of_their_own() -> None:
    assert {fn.name for fn in _made()} >= {"add", "div", "silu", "gelu", "gelu_tanh", "at_least"}
