"""Figure 14: speedup of dynamic parallelization over round robin, batch 64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepgen.study import plots
from stepgen.study.attention import DIFFERS, batch_rows, with_speedup
from stepgen.study.figure import Figure, FigureResult, Row
from stepgen.study.point import DRAWN
from stepgen.study.traces import Traces


def _rows(traces: Traces, view: str) -> list[Row]:
    return batch_rows(traces, view, [64], ["interleaved", "dynamic"])


def _draw(part: Any, results: Sequence[FigureResult]) -> None:
    axes = part.subplots()
    own = [r for r in results if r["schedule"] == "interleaved"]
    ratio = "dynamic_speedup"
    name = "dynamic over interleaved"
    plots.bars(
        axes,
        [f"{r['variation']}\n{r['stdev']}\n@ {r['first']}" for r in own],
        {name: [r[ratio] for r in own]},
        colors={name: plots.COLORS["interleaved"]},
        published={name: [r.published(ratio) for r in own]},
        drawn={name: [r.row.point.origin == DRAWN for r in own]},
        numbers="%.2f",
    )
    axes.axhline(1, color="grey", linewidth=0.8)
    axes.set_xlabel("variation of KV lengths: standard deviation @ first request")
    axes.set_ylabel("speedup over round robin")
    plots.legend(part, [axes])


FIGURE = Figure(
    "14",
    "Decode attention, batch 64: dynamic parallelization over round robin",
    DIFFERS,
    _rows,
    _draw,
    shown=("cycles", "dynamic_speedup"),
    derive=with_speedup,
    size=(8.0, 3.4),
)
