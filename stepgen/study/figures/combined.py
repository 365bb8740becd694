"""All three dynamic optimizations on the decoder layer, against each alone."""

from __future__ import annotations

from stepgen.study.decoder import DIFFERS, DecoderSchedule, claims, draw, row, with_speedup
from stepgen.study.figure import Figure, Row
from stepgen.study.traces import Traces

TILE = 32
PER_REGION = {"mixtral": 2, "qwen": 8}
"""Experts that share a region, with time-multiplexing."""


def _rows(traces: Traces, view: str) -> list[Row]:
    rows = []
    for model in ("mixtral", "qwen"):
        shared = 2 if traces.small else PER_REGION[model]
        schedules = (
            DecoderSchedule("none", TILE),
            DecoderSchedule("dynamic tiling", None),
            DecoderSchedule("time-multiplexing", TILE, per_region=shared),
            DecoderSchedule("dynamic parallelization", TILE, "dynamic"),
            DecoderSchedule("all three", None, "dynamic", shared),
        )
        rows += [row(traces, view, model, schedule) for schedule in schedules]
    return rows


FIGURE = Figure(
    "combined",
    "Dynamic optimizations of a decoder layer, each alone and all together",
    f"{DIFFERS} The paper shows the optimizations one at a time only.",
    _rows,
    draw,
    shown=("cycles", "speedup", "memory_peak", "compute_allocated", "compute_utilization"),
    derive=with_speedup,
    claims=claims,
    by="model",
    size=(12.0, 3.8),
)
