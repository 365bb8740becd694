"""Figure 13: what sharing regions saves: on-chip memory, compute, and what it costs in cycles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import plots
from ..figure import Figure, Result, Row
from ..moe import FAIR_MEMORY, region_counts, regions_row
from ..point import PUBLISHED
from ..traces import Traces
from .figure12 import DIFFERS


def _rows(traces: Traces, view: str) -> list[Row]:
    return [regions_row(traces, view, "static", n) for n in region_counts(traces, "static")]


def _draw(part: Any, results: Sequence[Result]) -> None:
    panels = part.subplots(1, 2)
    names = [f"{r['regions']}\n({r['experts per region']})" for r in results]
    held = "memory_used" if results[0].row.point.view == PUBLISHED else FAIR_MEMORY
    axes = _series(panels[0], names, results, "cycles", "cycles", 0, "o")
    other = _series(panels[0].twinx(), names, results, held, "on-chip memory (bytes)", 2, "s")
    third = _series(
        panels[0].twinx(), names, results, "compute_allocated", "compute (FLOPs/cycle)", 4, "^"
    )
    third.spines["right"].set_position(("outward", 46))
    below = _series(panels[1], names, results, "cycles", "cycles", 0, "o")
    used = _series(
        panels[1].twinx(), names, results, "bandwidth_utilization", "bandwidth used", 7, "s"
    )
    used.set_ylim(0, 1)
    for one in panels:
        one.set_xlabel("parallel regions (experts per region)")
    plots.legend(part, [axes, other, third, below, used], columns=5)


def _series(
    axes: Any,
    names: Sequence[str],
    results: Sequence[Result],
    number: str,
    label: str,
    color: int,
    marker: str,
) -> Any:
    plots.lines(
        axes,
        names,
        {label: [r[number] for r in results]},
        colors={label: plots.CYCLE[color]},
        published={label: [r.published(number) for r in results]},
        marker=marker,
    )
    axes.set_ylabel(label, color=plots.CYCLE[color])
    axes.set_ylim(0, None)
    return axes


FIGURE = Figure(
    "13",
    "Configuration time-multiplexing, static tiles of 32 rows: memory, compute and bandwidth",
    DIFFERS,
    _rows,
    _draw,
    shown=(
        "cycles", "memory_used", "memory_peak", "compute_allocated", "bandwidth_utilization",
    ),
    size=(11.0, 3.6),
)  # fmt: skip
