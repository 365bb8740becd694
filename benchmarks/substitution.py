"""(f3) Symbolic metrics of a thousand routings by substitution."""

from __future__ import annotations

from time import perf_counter

import numpy as np

import stepgen as sg
from benchmarks.table import Table
from examples.moe_swiglu import MODELS, moe_swiglu
from stepgen.program.traces import SKEWS, draw_routing

ROUTINGS = 1000
TOKENS = 64
REPEATS = 5


def measure() -> Table:
    """Mixtral and Qwen, static and dynamic tiles."""
    lines = []
    for model, sizes in MODELS.items():
        spread, idle = SKEWS[model]
        counts = np.array(
            [
                np.bincount(
                    draw_routing(
                        TOKENS, sizes.experts, sizes.top, spread=spread, idle=idle, seed=seed
                    ).ravel(),
                    minlength=sizes.experts,
                )
                for seed in range(ROUTINGS)
            ]
        )
        values = {f"E{i}": column for i, column in enumerate(counts.T)}
        for tiling in ("static", "dynamic"):
            start = perf_counter()
            graph, _ = moe_swiglu(model, tokens=TOKENS, tiling=tiling, data=False)
            built = perf_counter()
            metrics = sg.metrics(graph)
            metrics.evaluate(dict.fromkeys(values, 1))
            derived = perf_counter()
            found = metrics.evaluate(values)
            assert np.size(found.traffic) == ROUTINGS
            again = min(_seconds(metrics, values) for _ in range(REPEATS))
            lines.append(
                (
                    model,
                    tiling,
                    len(metrics.symbols),
                    f"{built - start:.2f}",
                    f"{derived - built:.3f}",
                    f"{again:.4f}",
                    f"{np.min(found.traffic) / 1e9:.2f} to {np.max(found.traffic) / 1e9:.2f}",
                )
            )
    return Table(
        "f3. Metrics of a thousand routings",
        f"{ROUTINGS} drawn routings of {TOKENS} tokens at full size: traffic, memory and FLOPs of "
        f"each, by substitution; best of {REPEATS}. Derive: the expressions, and compiling them.",
        ("model", "tiles", "dims", "build s", "derive s", "substitute s", "traffic GB"),
        lines,
    )


def _seconds(metrics: sg.Metrics, values: dict[str, np.ndarray]) -> float:  # type: ignore[type-arg]
    start = perf_counter()
    metrics.evaluate(values)
    return perf_counter() - start
