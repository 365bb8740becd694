"""What the recipes say of themselves, also of infinities and NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from programs import example

from stepgen.program.inputs import complete
from stepgen.semantics.executor import run

ROWS = 16
SPECIAL = (np.inf, -np.inf, np.nan, 0.0, -1.5)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


MEANINGS: dict[str, Callable[..., Any]] = {
    "relu": lambda x: np.maximum(x, 0),
    "clip": lambda x: np.clip(x, 0, 6),
    "bias": lambda x, b: x + b,
    "masked": lambda x, threshold: np.where(x < threshold, 0, x),
    "masked_columns": lambda scores, valid: np.where(np.arange(8) < valid, scores, -np.inf),
    "softmax": softmax,
}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", MEANINGS)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_values(name: str, seed: int) -> None:
    made = getattr(example("recipes"), name)(rows=ROWS)
    graph, given = made if isinstance(made, tuple) else (made, {})
    rng = np.random.default_rng(seed)
    inputs = complete(graph, given, seed=seed)
    for key, value in inputs.items():
        if value.dtype == np.float32:
            strange = rng.choice(np.array(SPECIAL, np.float32), value.shape)
            inputs[key] = np.where(rng.random(value.shape) < 0.2, strange, value)
    result = np.array(run(graph, inputs).nested("y"))
    expected = MEANINGS[name](**inputs)
    np.testing.assert_allclose(result, expected, rtol=1e-6)
