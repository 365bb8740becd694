"""Figure 13: on-chip memory and compute saved by sharing regions, and its cost in cycles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepgen.study import plots
from stepgen.study.figure import Figure, FigureResult, Row
from stepgen.study.figures.figure12 import DIFFERS
from stepgen.study.moe import FAIR_MEMORY, region_counts, regions_row
from stepgen.study.point import PUBLISHED
from stepgen.study.traces import Traces


def _rows(traces: Traces, view: str) -> list[Row]:
    return [regions_row(traces, view, "static", n) for n in region_counts(traces, "static")]


def _draw(part: Any, results: Sequence[FigureResult]) -> None:
    names = [f"{r['regions']}\n({r['experts per region']})" for r in results]
    as_published = results[0].row.point.view == PUBLISHED
    shown = {
        "cycles": "cycles",
        "memory_used" if as_published else FAIR_MEMORY: "on-chip memory (bytes)",
        "compute_allocated": "compute (FLOPs/cycle)",
        "bandwidth_utilization": "off-chip bandwidth used (%)",
    }
    panels = part.subplots(1, len(shown))
    for i, (axes, (number, label)) in enumerate(zip(panels, shown.items(), strict=True)):
        unit = 100 if "%" in label else 1
        plots.lines(
            axes,
            names,
            {"stepgen": [unit * r[number] for r in results]},
            colors={"stepgen": plots.CYCLE[i]},
            published={"stepgen": [r.published(number) for r in results]},
        )
        axes.set_title(label, fontsize="medium")
        axes.set_xlabel("parallel regions\n(experts per region)")
        axes.margins(y=0.1)
        axes.set_ylim(0, 100 if "%" in label else None)
        plots.engineering(axes.yaxis)
    if as_published:
        plots.legend(part, [panels[0]])


FIGURE = Figure(
    "13",
    "Configuration time-multiplexing, static tiles of 32 rows: memory, compute and bandwidth",
    DIFFERS,
    _rows,
    _draw,
    shown=(
        "cycles", "memory_used", "memory_peak", "compute_allocated", "bandwidth_utilization",
    ),
    size=(12.0, 3.6),
)  # fmt: skip
