"""Runs of the mixture of experts that Figures 9, 10, 12, 13, 19 and 20 share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import plots, published
from .figure import Result, Row
from .point import PUBLISHED, Point, Transform, Value
from .traces import Traces

STATIC_FLOPS, DYNAMIC_FLOPS = 4096, 6400
"""FLOPs per cycle that the published runs gave to operators with static and with dynamic tiles."""

SHARED_FLOPS = 1024
"""Of the runs with time-multiplexing, per operator."""

FAIR_MEMORY = "memory_peak"
"""What the fair view calls on-chip memory: the most bytes held at any time, by one rule for all."""

DIFFERS = (
    "As published, dynamic tiles have 6400 FLOPs/cycle per operator and static ones 4096, experts "
    "without tokens need no memory only with dynamic tiles, and a load waits for a tile before it "
    "asks for the next; fair, all have 4096, memory is the most that is held at any time, and "
    "loads keep two tiles in flight."
)


def memory(view: str) -> str:
    """The number that is on-chip memory in a view."""
    return "memory_allocated" if view == PUBLISHED else FAIR_MEMORY


def machine(view: str, flops: int) -> dict[str, Any]:
    """Machine and changes of a point of a view."""
    name = "sda-published" if view == PUBLISHED else "sda"
    return {
        "view": view,
        "machine": name,
        "changes": {"compute.flops": flops, "fifo_depth": 2},
    }


def tiling_row(traces: Traces, view: str, model_name: str, tokens: int, tile: int | str) -> Row:
    """One layer with tiles of `tile` rows, or ``"dynamic"`` ones."""
    model = traces.model(model_name)
    static = isinstance(tile, int)
    flops = STATIC_FLOPS if static or view != PUBLISHED else DYNAMIC_FLOPS
    tiles: dict[str, Value] = {"tiling": "static" if static else "dynamic"}
    if static:
        tiles["tile"] = tile
    options: dict[str, Value] = {
        **model.options,
        "tokens": traces.batch(tokens),
        **tiles,
        "data": False,
    }
    point = Point(
        "moe_swiglu",
        options,
        {"routing": traces.routing(model, tokens)},
        **machine(view, flops),
    )
    known = published.MOE.get((model_name, tokens, tile), {})
    return Row({"model": model.title, "tokens": tokens, "tile": tile}, point, known)


def tiling_rows(tokens: int, tiles: Sequence[int]) -> Callable[[Traces, str], list[Row]]:
    """The runs of a figure: both models with each of the static tiles and with dynamic ones."""

    def rows(traces: Traces, view: str) -> list[Row]:
        wanted: list[int | str] = [*((2, 4) if traces.small else tiles), "dynamic"]
        return [
            tiling_row(traces, view, model, tokens, tile)
            for model in ("mixtral", "qwen")
            for tile in wanted
        ]

    return rows


def regions_row(traces: Traces, view: str, tiling: str, regions: int) -> Row:
    """One layer of Qwen whose experts share regions."""
    model = traces.model("qwen")
    experts = model.sizes["experts"]
    tiles: dict[str, Value] = {"tiling": tiling, "tile": 32} if tiling == "static" else {}
    options: dict[str, Value] = {
        **model.options, "tokens": traces.batch(64), "columns": 48, **tiles, "data": False,
    }  # fmt: skip
    shared = () if regions == experts else (Transform("time_multiplex", {"regions": regions}),)
    point = Point(
        "moe_swiglu",
        options,
        {"routing": traces.routing(model, 64)},
        shared,
        **machine(view, SHARED_FLOPS),
    )
    labels: dict[str, Value] = {
        "tiling": tiling,
        "regions": regions,
        "experts per region": experts // regions,
    }
    return Row(labels, point, {} if traces.small else published.time_multiplexing(tiling, regions))


def region_counts(traces: Traces, tiling: str) -> list[int]:
    """The sweep of Figures 12 and 13; the published static one ends at 4 regions."""
    experts = traces.model("qwen").sizes["experts"]
    fewest = 4 if tiling == "static" and not traces.small else 2
    return [experts >> i for i in range(experts.bit_length()) if experts >> i >= fewest]


def draw_frontiers(part: Any, results: Sequence[Result]) -> None:
    """Figures 9 and 10: one panel per model, cycles against on-chip memory."""
    models = list(dict.fromkeys(r["model"] for r in results))
    panels = part.subplots(1, len(models), squeeze=False)[0]
    held = memory(results[0].row.point.view)
    for axes, model in zip(panels, models, strict=True):
        own = [r for r in results if r["model"] == model]
        static = [(r[held], r["cycles"], str(r["tile"])) for r in own if r["tile"] != "dynamic"]
        dynamic = next(((r[held], r["cycles"]) for r in own if r["tile"] == "dynamic"), None)
        plots.frontier(axes, sorted(static), dynamic, labels=True)
        known = [(r.published(held), r.published("cycles")) for r in own]
        plots.hollow(axes, [(x, y) for x, y in known if x and y], "published")
        axes.set_xlabel(f"on-chip memory (bytes)\n{model}")
    panels[0].set_ylabel("latency (cycles)")
    plots.legend(part, panels)


def with_distance(results: list[Result]) -> list[Result]:
    """Add the Pareto improvement distance of each dynamic point to the static ones of its model.

    It is the factor by which the nearest static point is worse in the metric in which it is worst
    (section 6.1); above 1, no static tile is as good in both.
    """
    held = memory(results[0].row.point.view)
    made = []
    for result in results:
        numbers = dict(result.numbers)
        if result["tile"] == "dynamic":
            others = [
                r for r in results if r["model"] == result["model"] and r["tile"] != "dynamic"
            ]
            numbers["pareto_distance"] = min(
                max(r["cycles"] / result["cycles"], r[held] / result[held]) for r in others
            )
        made.append(Result(result.row, numbers))
    return made


def draw_ratios(part: Any, results: Sequence[Result]) -> None:
    """Figures 19 and 20: cycles, traffic and memory, each over that of dynamic tiles."""
    models = list(dict.fromkeys(r["model"] for r in results))
    held = memory(results[0].row.point.view)
    panels = part.subplots(1, len(models), squeeze=False, sharey=True)[0]
    metrics = ("cycles", "traffic", held)
    for axes, model in zip(panels, models, strict=True):
        own = [r for r in results if r["model"] == model]
        base = next(r for r in own if r["tile"] == "dynamic")
        names = [f"tile={r['tile']}" if r["tile"] != "dynamic" else "dynamic" for r in own]
        plots.bars(
            axes,
            ["cycles", "off-chip\ntraffic", "on-chip\nmemory"],
            {n: [r[m] / base[m] for m in metrics] for n, r in zip(names, own, strict=True)},
            published={
                n: [_ratio(r.published(m), base.published(m)) for m in metrics]
                for n, r in zip(names, own, strict=True)
            },
            numbers="%.2f",
        )
        axes.set_yscale("log")
        axes.set_xlabel(model)
    plots.logarithmic(panels[0].yaxis)
    panels[0].set_ylabel("ratio to dynamic tiles (log)")
    plots.legend(part, panels)


def _ratio(number: float | None, base: float | None) -> float | None:
    return number / base if number and base else None
