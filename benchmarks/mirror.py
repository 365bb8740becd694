"""(e) Timing on tiles against the exact cycles, on a machine that mirrors the hardware."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.table import Table
from examples.attention import attention
from examples.moe import draw_routing, moe
from stepgen.compile import transforms
from stepgen.cosim.experiment import Experiment
from stepgen.study.mirror import mirrored

TOKENS, EXPERTS, TOP = 64, 8, 2
SCHEDULES: dict[str, dict[str, Any]] = {
    **{f"tile {tile}": {"tiling": "static", "tile": tile} for tile in (2, 4, 8, 16)},
    "dynamic": {"tiling": "dynamic"},
}
SEEDS = 8
TILINGS = ("static", "capped", "dynamic")
SHARED = (8, 4, 2)
"""Regions that the experts share."""
MULTIPLEXED_SEEDS = 9
REGIONS, REQUESTS = 4, 16
SPREAD: dict[str, dict[str, Any]] = {
    "coarse": {"how": "coarse"},
    "interleaved": {"how": "interleaved"},
    "interleaved, routed": {"how": "interleaved", "routed": True},
    "dynamic": {"how": "dynamic", "done": "keys_read"},
}
"""How requests come to regions."""
PARALLEL_SEEDS = 6


def routings() -> Iterator[npt.NDArray[np.int64]]:
    """Balanced, on two experts, and drawn: with skews, and with half of the experts idle."""
    yield (np.arange(TOKENS)[:, None] * TOP + np.arange(TOP)) % EXPERTS
    yield np.tile(np.arange(TOP), (TOKENS, 1))
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        for skew in (0.0, 0.5, 1.0, 2.0):
            yield draw_routing(rng, TOKENS, EXPERTS, TOP, skew)
        yield draw_routing(rng, TOKENS, EXPERTS // 2, TOP, 0.5)


Compared = list[list[tuple[int, int]]]
"""By input and schedule the cycles, exact and on tiles."""


def measure() -> list[Table]:
    """One region for each expert, experts that share regions, and parallel regions."""
    return [_experts(), _multiplexed(), _parallel()]


def _experts() -> Table:
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
    model, tiles = (median(t) for t in zip(*times, strict=True))
    return _table(
        "e. Timing on tiles against exact cycles",
        f"MoE layer, {TOKENS} tokens, top {TOP} of {EXPERTS} experts, 4 lanes, bus of 64 bits, "
        f"{len(found)} routings (balanced, on two experts, drawn with skews 0 to 2, half of the "
        "experts idle). The machine mirrors rates, FIFOs and bus of the hardware; three numbers "
        "(tiles in a FIFO, tiles of weights in a matrix unit, tiles that a load has in flight) "
        "were chosen by looking at cycles (of other routings). "
        f"Median seconds of a run: {model:.3f} exact, {tiles:.3f} on tiles.",
        found,
        SCHEDULES,
    )


def _multiplexed() -> Table:
    """Experts on fewer regions."""
    options = {f"{tiling}, {n} regions": (tiling, n) for tiling in TILINGS for n in SHARED}
    columns = []
    for tiling, regions in options.values():
        design, column = None, []
        for seed in range(MULTIPLEXED_SEEDS):
            rng = np.random.default_rng(seed)
            routing = draw_routing(rng, TOKENS, EXPERTS, TOP, seed % 3 / 2)
            graph, inputs = moe(TOKENS, EXPERTS, TOP, routing=routing, tiling=tiling, tile=8)
            if regions < EXPERTS:
                made = transforms.time_multiplex(graph, regions=regions)
                graph, inputs = made.graph, made.inputs(inputs)
            experiment = Experiment(graph, inputs, built=design)
            design = experiment.design
            column.append(_both(experiment))
        columns.append(column)
    found = [list(row) for row in zip(*columns, strict=True)]
    return _table(
        "e2. Timing on tiles against exact cycles: time-multiplexed experts",
        f"As table e, with tiles of 8 rows (static), of at most 8 (capped) and of all (dynamic); "
        f"{len(found)} drawn routings of skews 0, 0.5 and 1; experts on all and on fewer regions. "
        "A merge takes the tile that came first on tiles, and in turn in the circuit.",
        found,
        options,
    )


def _parallel() -> Table:
    """Decode attention on several regions."""
    found = []
    for seed in range(PARALLEL_SEEDS):
        rng = np.random.default_rng(seed)
        lengths = rng.integers(0, int(rng.choice([16, 48, 120])), REQUESTS).tolist()
        row = []
        for spread in SPREAD.values():
            graph, inputs = attention(lengths, rows=4, width=16, tile=4)
            made = transforms.parallelize(graph, regions=REGIONS, **spread)
            row.append(_both(Experiment(made.graph, made.inputs(inputs))))
        found.append(row)
    return _table(
        "e3. Timing on tiles against exact cycles: parallel regions",
        f"Decode attention, {REQUESTS} requests of drawn lengths on {REGIONS} regions, 4 query "
        f"rows, 16 columns, cache tiles of 4 rows, bf16, 4 lanes, bus of 64 bits; {len(found)} "
        "batches whose longest are up to 16, 48 and 120 rows.",
        found,
        SPREAD,
    )


def _both(experiment: Experiment) -> tuple[int, int]:
    """Cycles, exact and on tiles."""
    return experiment.prediction.cycles, mirrored(experiment).cycles


def _table(title: str, said: str, found: Compared, schedules: Iterable[str]) -> Table:
    """Errors by schedule, and how many pairs of schedules are ordered alike."""
    errors = np.array([[m / e - 1 for e, m in row] for row in found])
    agree, pairs, widest = ranking(found)
    lines = [
        (name, *(f"{100 * f(e):+.1f} %" for f in (min, median, max)))
        for name, e in zip([*schedules, "all"], [*errors.T, errors.ravel()], strict=True)
    ]
    return Table(
        title,
        f"{said} Error of the cycles on tiles by schedule. Of all pairs of schedules with one "
        f"input, {agree} of {pairs} are ordered alike, Kendall's tau {2 * agree / pairs - 1:.3f} "
        "on average; no pair is ordered differently whose exact cycles differ by more than "
        f"{100 * widest:.1f} %.",
        ("schedule", "min", "median", "max"),
        lines,
    )


def ranking(found: Compared) -> tuple[int, int, float]:
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
