"""Figure 17: a complete decoder layer, static schedules against the dynamic one."""

from __future__ import annotations

from stepgen.study.decoder import DIFFERS, DecoderSchedule, claims, draw, row, with_speedup
from stepgen.study.figure import Figure, Row
from stepgen.study.traces import Traces

SCHEDULES = (
    DecoderSchedule("static, tiles of 16 rows", 16),
    DecoderSchedule("static, tiles of 64 rows", 64),
    DecoderSchedule("dynamic", None, "dynamic"),
)
"""No program or settings of this figure were published: these are ours."""


def _rows(traces: Traces, view: str) -> list[Row]:
    return [row(traces, view, m, s) for m in ("mixtral", "qwen") for s in SCHEDULES]


FIGURE = Figure(
    "17",
    "A whole decoder layer of 64 requests: QKV, attention over four regions, mixture of experts",
    f"{DIFFERS} The paper published no settings of this figure.",
    _rows,
    draw,
    shown=("cycles", "speedup", "traffic", "memory_allocated", "memory_peak"),
    derive=with_speedup,
    claims=claims,
    by="model",
    size=(11.0, 3.8),
)
