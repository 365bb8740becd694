"""Figure 12: compute utilization and cycles when experts share fewer and fewer regions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from stepgen.study import plots, published
from stepgen.study.claims import compared, equal, fold, of, pairs, table
from stepgen.study.figure import Figure, FigureResult, Row, Views
from stepgen.study.moe import region_counts, regions_row
from stepgen.study.point import VIEWS
from stepgen.study.report import VIEW_NAMES, cell
from stepgen.study.traces import Traces

DIFFERS = (
    "Both views give every operator 1024 FLOPs/cycle; as published, each load waits for a tile "
    "before it asks for the next and operands are read one after the other, fair, loads keep two "
    "tiles in flight and operands lie in memories of their own. Published utilization counted SiLU "
    "too often and is shown without that."
)


SHARED = 4
"""Experts that share a region at 32 regions, of which the paper speaks."""


def _rows(traces: Traces, view: str) -> list[Row]:
    return [
        regions_row(traces, view, tiling, regions)
        for tiling in ("static", "dynamic")
        for regions in region_counts(traces, tiling)
    ]


def _draw(part: Any, results: Sequence[FigureResult]) -> None:
    panels = part.subplots(2, 2, sharex="col", sharey="row")
    for (above, below), tiling in zip(panels.T, ("static", "dynamic"), strict=True):
        own = [r for r in results if r["tiling"] == tiling]
        names = [f"{r['regions']}\n({r['experts per region']})" for r in own]
        used = "compute_occupancy"
        plots.lines(
            above,
            names,
            {
                "compute occupied": [100 * r[used] for r in own],
                "by useful work": [100 * r["compute_utilization"] for r in own],
            },
            colors={"by useful work": plots.CYCLE[2]},
            published={"compute occupied": [_percent(r.published(used)) for r in own]},
            dashed=("by useful work",),
        )
        plots.lines(
            below,
            names,
            {"cycles": [r["cycles"] for r in own]},
            colors={"cycles": plots.CYCLE[1]},
            published={"cycles": [r.published("cycles") for r in own]},
            marker="s",
        )
        below.set_xlabel(f"parallel regions (experts per region)\n{tiling} tiles")
    for axes, label in zip(panels[:, 0], ("compute occupied (%)", "cycles"), strict=True):
        axes.set_ylabel(label)
        axes.margins(y=0.1)
        axes.set_ylim(0, None)
    plots.engineering(panels[1, 0].yaxis)
    plots.legend(part, panels.flat)


def _claims(views: Views) -> Iterator[str]:
    shares = ("compute_occupancy", "compute_utilization")
    yield from table(
        (
            "tiles",
            "regions",
            "cycles, published",
            "as published",
            "error",
            "cycles, fair",
            "occupied, published (corrected)",
            "as published",
            "by useful work",
            "on-chip, bytes",
        ),
        (
            (
                p["tiling"],
                p["regions"],
                *compared(p),
                of(f, "cycles"),
                cell(shares[0], p.published(shares[0])),
                *(cell(share, p[share]) for share in shares),
                equal(p, "memory_used"),
            )
            for p, f in pairs(views)
        ),
    )
    yield ""
    for view in VIEWS:
        yield from _sharing(view, [r for r in views[view] if r["tiling"] == "static"])
    charged, real = published.SILU_TOO_OFTEN
    yield (
        f"- Published utilization is {fold(charged / real)} times the corrected one, which "
        "charges SiLU once per element."
    )


def _sharing(view: str, static: Sequence[FigureResult]) -> Iterator[str]:
    """What changes from a region per expert to one for four experts."""
    alone, shared = static[0], next(r for r in static if r["experts per region"] == SHARED)
    number = "compute_occupancy"
    sentence = (
        f"- From {alone['regions']} to {shared['regions']} regions, {VIEW_NAMES[view]}: static "
    )
    sentence += f"tiles occupy {fold(shared[number] / alone[number])} times the compute"
    known = [r.published(number) for r in (alone, shared)]
    if known[0] and known[1]:
        sentence += f" (published: {fold(known[1] / known[0])})"
    useful = alone["compute_utilization"] / alone[number]
    yield f"{sentence}, of which {100 * useful:.0f} % is useful work."


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


FIGURE = Figure(
    "12",
    "Configuration time-multiplexing of Qwen3-30B-A3B, 64 tokens: utilization and cycles",
    DIFFERS,
    _rows,
    _draw,
    claims=_claims,
    by="tiling",
    size=(9.0, 5.0),
    shown=("cycles", "compute_occupancy", "compute_utilization", "compute_allocated"),
)
