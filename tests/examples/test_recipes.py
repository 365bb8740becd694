"""What the recipes say of themselves, also of infinities and NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from programs import example

from stepgen.compile.lower import lower
from stepgen.hw.units.matvec.params import Matvec
from stepgen.program.inputs import complete
from stepgen.semantics import numbers
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


def test_attention_over_caches_of_any_length() -> None:
    """Its circuit keeps no more rows than the bound; numbers are those of bf16."""
    graph, inputs = example("recipes").ragged_attention(requests=5, longest=7)
    q = np.random.default_rng(1).standard_normal((5, 2, 8))
    y = np.array(run(graph, {**inputs, "q": q}).nested("y"))
    for n, of in enumerate(zip(inputs["k"], inputs["v"], strict=True)):
        k, v = (numbers.as_element(x, "bf16").astype(float) for x in of)
        scores = numbers.as_element(q[n], "bf16").astype(float) @ k.T
        np.testing.assert_allclose(y[n], softmax(scores) @ v, atol=0.02)
    units = {unit.params.kind: unit.params for unit in lower(graph).units}
    assert units["matmul"].dynamic
    assert {"join_lanes", "split_lanes"} <= units.keys()


@pytest.mark.parametrize(("bits", "k", "n", "group"), [(8, 24, 10, 8), (4, 16, 8, 4), (8, 6, 4, 6)])
def test_weights_with_scales_per_group(bits: int, k: int, n: int, group: int) -> None:
    """Exact, as all numbers have few digits; of int4 too, which a circuit reads as such."""
    sizes = {"rows": 3, "k": k, "n": n, "group": group, "bits": bits}
    graph = example("recipes").grouped_weights(**sizes)
    rng, most = np.random.default_rng(bits), 1 << bits - 1
    x = rng.integers(-8, 8, (3, 1, k)) / 4
    w = rng.integers(-most, most, (n, k))
    scales = 2.0 ** rng.integers(-6, 3, (k // group, n))
    given = {"x": numbers.as_element(x, "bf16"), "w": w.astype(np.int8)}
    y = run(graph, {**given, "scales": scales.astype(np.float32)}).nested("y")
    wanted = x.reshape(3, k) @ (w * np.repeat(scales, group, axis=0).T).T
    np.testing.assert_array_equal(np.asarray(y, np.float64).reshape(3, n), wanted)
    (product,) = lower(graph).rows_of(Matvec)
    assert product[1].element == "bf16"
