"""(e) Timing on tiles against the exact cycles, on a machine that mirrors the hardware."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from examples.moe import draw_routing, moe
from stepgen.cosim.experiment import Experiment
from stepgen.study.mirror import mirrored

from .table import Table

TOKENS, EXPERTS, TOP = 64, 8, 2
SCHEDULES: dict[str, dict[str, Any]] = {
    **{f"tile {tile}": {"tiling": "static", "tile": tile} for tile in (2, 4, 8, 16)},
    "dynamic": {"tiling": "dynamic"},
}
SEEDS = 8


def routings() -> Iterator[npt.NDArray[np.int64]]:
    """Balanced, on two experts, and drawn: with skews, and with half of the experts idle."""
    yield (np.arange(TOKENS)[:, None] * TOP + np.arange(TOP)) % EXPERTS
    yield np.tile(np.arange(TOP), (TOKENS, 1))
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        for skew in (0.0, 0.5, 1.0, 2.0):
            yield draw_routing(rng, TOKENS, EXPERTS, TOP, skew)
        yield draw_routing(rng, TOKENS, EXPERTS // 2, TOP, 0.5)


def measure() -> Table:
    """All schedules under all routings."""
    found, times = [], []
    for routing in routings():
        row = []
        for settings in SCHEDULES.values():
            experiment = Experiment(*moe(TOKENS, EXPERTS, TOP, routing=routing, **settings))
            _ = experiment.design, experiment.beats
            start = perf_counter()
            exact = experiment.prediction.cycles
            middle = perf_counter()
            row.append((exact, mirrored(experiment).cycles))
            times.append((middle - start, perf_counter() - middle))
        found.append(row)
    errors = np.array([[m / e - 1 for e, m in row] for row in found])
    agree, pairs, widest = ranking(found)
    lines = [
        (name, *(f"{100 * f(e):+.1f} %" for f in (min, median, max)))
        for name, e in zip([*SCHEDULES, "all"], [*errors.T, errors.ravel()], strict=True)
    ]
    model, tiles = (median(t) for t in zip(*times, strict=True))
    return Table(
        "e. Timing on tiles against exact cycles",
        f"MoE layer, {TOKENS} tokens, top {TOP} of {EXPERTS} experts, 4 lanes, bus of 64 bits, "
        f"{len(found)} routings (balanced, on two experts, drawn with skews 0 to 2, half of the "
        "experts idle). The machine mirrors rates, FIFOs and bus of the hardware; three numbers "
        "(tiles in a FIFO, tiles of weights in a matrix unit, tiles that a load has in flight) "
        "were chosen by looking at cycles (of other routings). "
        "Error of the cycles on tiles by schedule. Of all pairs of schedules under one "
        f"routing, {agree} of {pairs} are ordered alike, Kendall's tau {2 * agree / pairs - 1:.3f} "
        f"on average; no pair is ordered differently whose exact cycles differ by more than "
        f"{100 * widest:.1f} %. Median seconds of a run: {model:.3f} exact, {tiles:.3f} on tiles.",
        ("schedule", "min", "median", "max"),
        lines,
    )


def ranking(found: list[list[tuple[int, int]]]) -> tuple[int, int, float]:
    """Pairs of schedules that are ordered alike, all pairs, and the widest that is not.

    Returns
    -------
    agree, pairs : int
        Pairs with equal exact cycles are in no order and left out.
    widest : float
        By how much the slower of a pair in the wrong order is slower, at most.
    """
    agree, pairs, widest = 0, 0, 0.0
    for row in found:
        for (e1, m1), (e2, m2) in combinations(row, 2):
            if e1 == e2:
                continue
            pairs += 1
            if (e1 < e2) == (m1 < m2) and m1 != m2:
                agree += 1
            else:
                widest = max(widest, max(e1, e2) / min(e1, e2) - 1)
    return agree, pairs, widest
