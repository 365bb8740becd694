"""Figure 21: three ways to parallelize attention, over batch sizes and variation of lengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepgen.study import plots, published
from stepgen.study.attention import DIFFERS, batch_claims, batch_rows, geomean, with_speedup
from stepgen.study.figure import Figure, FigureResult, Row
from stepgen.study.point import DRAWN
from stepgen.study.traces import Traces


def _rows(traces: Traces, view: str) -> list[Row]:
    return batch_rows(traces, view, [16, 64, 80], published.SCHEDULES)


def _draw(part: Any, results: Sequence[FigureResult]) -> None:
    sizes = list(dict.fromkeys(r["batch"] for r in results))
    panels = part.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    ratio = "dynamic_speedup"
    for axes, size in zip(panels, sizes, strict=True):
        own = [r for r in results if r["batch"] == size]
        kinds = list(dict.fromkeys(str(r["variation"]) for r in own))
        groups = {
            how: [
                [r for r in own if r["schedule"] == how and r["variation"] == kind]
                for kind in kinds
            ]
            for how in published.SCHEDULES
        }
        plots.bars(
            axes,
            kinds,
            {how: [geomean([r[ratio] for r in g]) for g in gs] for how, gs in groups.items()},
            colors=plots.COLORS,
            published={
                how: [geomean([r.published(ratio) for r in g]) for g in gs]
                for how, gs in groups.items()
            },
            drawn={
                how: [any(r.row.point.origin == DRAWN for r in g) for g in gs]
                for how, gs in groups.items()
            },
            numbers="%.2f",
        )
        axes.axhline(1, color="grey", linewidth=0.8)
        batch = "64+16" if size == 80 else size
        axes.set_xlabel(f"variation of KV lengths\nB={batch}")
    panels[0].set_ylabel("cycles over dynamic\n(geometric mean)")
    plots.legend(part, panels)


FIGURE = Figure(
    "21",
    "Decode attention: three ways to parallelize",
    DIFFERS,
    _rows,
    _draw,
    by="batch",
    shown=("cycles", "dynamic_speedup"),
    derive=with_speedup,
    claims=batch_claims,
    size=(10.0, 3.6),
)
