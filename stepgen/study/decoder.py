"""Runs of a complete decoder layer under schedules: Figure 17, and all optimizations together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from stepgen.study import plots
from stepgen.study.claims import fold, of, pairs, table
from stepgen.study.figure import FigureResult, Row, Views
from stepgen.study.moe import DYNAMIC_FLOPS, FAIR_MEMORY, STATIC_FLOPS
from stepgen.study.point import FAIR, PUBLISHED, Point, Transform, Value
from stepgen.study.traces import Traces

BATCH = (64, 996, 4007)
"""Batch, standard deviation and first request of the KV lengths."""

REGIONS = 4
"""Parallel regions of attention."""

KV_HEADS = {"mixtral": 8, "qwen": 4}
SMALL_HEADS = 2

DIFFERS = (
    "As published, dynamic tiles have 6400 FLOPs/cycle per operator and static ones 4096, the "
    "softmax has no maximum subtracted, and a load waits for a tile before it requests the next; "
    "fair, all have 4096, the softmax is safe, and loads keep two tiles in flight."
)


@dataclass(frozen=True)
class DecoderSchedule:
    """A schedule of a decoder layer.

    Parameters
    ----------
    name : str
    tile : int or None
        Rows of a static tile of an expert's tokens; None for dynamic tiles.
    how : {"interleaved", "dynamic"}
        How requests are spread over the regions of attention.
    per_region : int
        Experts that share a region; 1 for none.
    """

    name: str
    tile: int | None
    how: str = "interleaved"
    per_region: int = 1


def row(traces: Traces, view: str, model_name: str, schedule: DecoderSchedule) -> Row:
    """One layer under one schedule."""
    model = traces.model("mixtral" if traces.small else model_name)
    heads = SMALL_HEADS if traces.small else KV_HEADS[model_name]
    as_published = view == PUBLISHED
    options: dict[str, Value] = {
        "model": None if traces.small else model_name,
        "softmax": "published" if as_published else "safe",
        "tiling": "dynamic" if schedule.tile is None else "static",
        "data": False,
        "rope": False,
    }
    if schedule.tile is not None:
        options["tile"] = min(schedule.tile, 4) if traces.small else schedule.tile
    flops = DYNAMIC_FLOPS if as_published and schedule.tile is None else STATIC_FLOPS
    point = Point(
        "decoder",
        options,
        {"routing": traces.routing(model, BATCH[0]), "lengths": traces.lengths(*BATCH)},
        tuple(_transforms(schedule, heads, model.sizes["experts"], as_published)),
        "sda-published" if as_published else "sda",
        {"compute.flops": flops},
        view,
    )
    return Row({"model": traces.model(model_name).title, "schedule": schedule.name}, point)


def _transforms(
    schedule: DecoderSchedule, heads: int, experts: int, as_published: bool
) -> list[Transform]:
    per_request = [f"{x}_of_request{h}" for h in range(heads) for x in "qkv"]
    inputs = ["span", "place"] if as_published else ["span", "place", "filled"]
    options: dict[str, Value] = {
        "regions": REGIONS,
        "how": schedule.how,
        "requests": [*per_request, *inputs],
        "until": [f"attended{h}" for h in range(heads)],
    }
    if schedule.how == "dynamic":
        # As in Figure 16: free for the next request when the last keys are read.
        options["done"] = f"keys{heads - 1}_read"
    steps = [Transform("parallelize", options)]
    if schedule.per_region > 1:
        steps.append(Transform("time_multiplex", {"regions": experts // schedule.per_region}))
    return steps


def with_speedup(results: list[FigureResult]) -> list[FigureResult]:
    """Add how much faster each schedule is than the first one of its model."""
    first: dict[Value, FigureResult] = {}
    for result in results:
        first.setdefault(result["model"], result)
    return [
        FigureResult(r.row, {**r.numbers, "speedup": first[r["model"]]["cycles"] / r["cycles"]})
        for r in results
    ]


def draw(part: Any, results: Sequence[FigureResult]) -> None:
    """Cycles, memory and compute of the schedules, relative to the first one of each model."""
    models = list(dict.fromkeys(r["model"] for r in results))
    panels = part.subplots(1, len(models), sharey=True, squeeze=False)[0]
    metrics = ("cycles", FAIR_MEMORY, "compute_allocated", "traffic")
    for axes, model in zip(panels, models, strict=True):
        own = [r for r in results if r["model"] == model]
        plots.bars(
            axes,
            ["cycles", "on-chip\nmemory, peak", "compute", "off-chip\ntraffic"],
            {str(r["schedule"]): [r[m] / own[0][m] for m in metrics] for r in own},
            numbers="%.2f",
        )
        axes.axhline(1, color="grey", linewidth=0.8)
        axes.set_xlabel(model)
    panels[0].set_ylabel(f"relative to “{results[0]['schedule']}”")
    plots.legend(part, panels, columns=5)


def claims(views: Views) -> Iterator[str]:
    """Every schedule, then the last one beside the first."""
    numbers = ("cycles", "speedup", "traffic", FAIR_MEMORY, "compute_allocated")
    heads = ("cycles", "speedup", "traffic", "peak bytes", "FLOPs/cycle")
    yield from table(
        ["model", "schedule", "cycles, as published", *(f"{h}, fair" for h in heads)],
        (
            [
                *p.row.labels.values(),
                p["cycles"],
                *(fold(of(f, n)) if n == "speedup" else of(f, n) for n in numbers),
            ]
            for p, f in pairs(views)
        ),
    )
    yield ""
    for model in dict.fromkeys(r["model"] for r in views[FAIR]):
        first, *_, last = (r for r in views[FAIR] if r["model"] == model)
        ratios = ", ".join(
            f"{fold(last[n] / first[n])} of the {what}"
            for n, what in zip(numbers, heads, strict=True)
            if n != "speedup"
        )
        yield f"- {model}, fair, “{last['schedule']}” beside “{first['schedule']}”: {ratios}."
