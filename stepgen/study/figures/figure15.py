"""Figure 15: cycles of coarse and dynamic parallelization over the size of the batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepgen.study import plots, published
from stepgen.study.attention import DIFFERS, row, size_claims, with_speedup
from stepgen.study.figure import Figure, FigureResult, Row
from stepgen.study.point import Trace
from stepgen.study.traces import Traces

SIZES = (16, 32, 48, 64)
BATCH = (64, 996, 4007)
"""Batch, standard deviation and first request of the trace whose first requests are taken."""


def _rows(traces: Traces, view: str) -> list[Row]:
    whole = traces.lengths(*BATCH)
    rows = []
    for size in (4, 8) if traces.small else SIZES:
        trace = Trace(f"{whole.name}[:{size}]", whole.origin, whole.values[:size])
        for how, cycles in zip(published.SCHEDULES, published.ATTENTION[BATCH], strict=True):
            if how != "interleaved":
                known = cycles if size == BATCH[0] else None
                rows.append(row(view, trace, how, {"batch": size}, known))
    return rows


def _draw(part: Any, results: Sequence[FigureResult]) -> None:
    axes = part.subplots()
    sizes = list(dict.fromkeys(r["batch"] for r in results))
    of = {how: [r for r in results if r["schedule"] == how] for how in ("coarse", "dynamic")}
    plots.lines(
        axes,
        sizes,
        {how: [r["cycles"] for r in own] for how, own in of.items()},
        colors=plots.COLORS,
        published={how: [r.published("cycles") for r in own] for how, own in of.items()},
    )
    for place, (slow, other) in enumerate(zip(of["coarse"], of["dynamic"], strict=True)):
        above = max(slow["cycles"], other["cycles"])
        axes.annotate(
            f"{slow['dynamic_speedup']:.2f}x", (place, above), (0, 8),
            textcoords="offset points", ha="center", fontsize="small",
        )  # fmt: skip
    axes.set_yscale("log")
    axes.margins(y=0.15)
    plots.logarithmic(axes.yaxis)
    axes.set_xlabel("batch size")
    axes.set_ylabel("latency (cycles)")
    plots.legend(part, [axes])


FIGURE = Figure(
    "15",
    "Decode attention: coarse and dynamic parallelization over the size of the batch",
    DIFFERS,
    _rows,
    _draw,
    shown=("cycles", "dynamic_speedup"),
    derive=with_speedup,
    claims=size_claims,
    size=(8.0, 3.6),
)
