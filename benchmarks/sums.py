"""(j) Errors of sums of bf16 products: kept bits below the exponent, against a tree in f32."""

from __future__ import annotations

import numpy as np

from benchmarks.table import Table
from stepgen.semantics import numbers
from stepgen.semantics.sums import FRACTION, Sums

SIZE = 48
"""Rows and columns of the results."""
LENGTHS = (64, 1024, 4096)
FRACTIONS = (22, 24, FRACTION, 28)
LANES = 4
UNIT = 2.0**-24
Pair = tuple[numbers.Array, numbers.Array]


def _normal(rng: np.random.Generator, k: int) -> Pair:
    return rng.standard_normal((SIZE, k)), rng.standard_normal((k, SIZE))


def _positive(rng: np.random.Generator, k: int) -> Pair:
    a, b = _normal(rng, k)
    return np.abs(a), np.abs(b)


def _wide(rng: np.random.Generator, k: int) -> Pair:
    a, b = (x * 2.0 ** rng.integers(-12, 12, x.shape) for x in _normal(rng, k))
    return a, b


def _cancelling(rng: np.random.Generator, k: int) -> Pair:
    a, b = _normal(rng, k)
    order = rng.permutation(k)
    a[:, k // 2 :] = a[:, : k // 2]
    b[k // 2 :] = rng.standard_normal((k // 2, SIZE)) * 2.0**-8 - b[: k // 2]
    return a[:, order], b[order]


def _outliers(rng: np.random.Generator, k: int) -> Pair:
    a, b = _normal(rng, k)
    a[:, 0] = a[:, k // 2] = 3e4
    b[0], b[k // 2] = 1e4, -1e4
    return a, b


DATA = {
    "normal": _normal,
    "positive": _positive,
    "over 24 octaves": _wide,
    "cancels but for 2^-8": _cancelling,
    "two outliers that cancel": _outliers,
}


def measure() -> Table:
    """Against sums in f64."""
    rows = []
    for k in LENGTHS:
        for name, draw in DATA.items():
            a, b = (numbers.as_element(x, "bf16") for x in draw(np.random.default_rng(1), k))
            wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
            exact, size = wide_a @ wide_b, np.abs(wide_a) @ np.abs(wide_b)
            start = np.zeros((SIZE, SIZE), np.float32)
            tree = numbers.matmul(a.astype(np.float32), b.astype(np.float32), LANES, start)
            found = [tree]
            found += [Sums.of(start, bits).plus(a, b, LANES).rounded() for bits in FRACTIONS]
            errors = [np.abs(x - exact) / size / UNIT for x in found]
            cells = [f"{np.sqrt((e * e).mean()):.2f} / {e.max():.1f}" for e in errors]
            rows.append([k, name, *cells])
    head = ["K", "data", "tree in f32", *(f"{bits} bits" for bits in FRACTIONS)]
    return Table(
        "j. Errors of sums of bf16 products",
        f"Root mean square / largest error of {SIZE} x {SIZE} sums on {LANES} lanes, in units of "
        "2^-24 of the sum of magnitudes, against f64. Tree in f32: each slice by a tree, then "
        "slice after slice, every sum rounded. Others: `stepgen.semantics.sums` with so many bits "
        f"below the exponent; {FRACTION} are built.",
        head,
        rows,
    )
