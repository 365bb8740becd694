"""Static against dynamic tiles in the mixture of experts: Figures 9, 10, 19 and 20."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from stepgen.study import plots, published
from stepgen.study.claims import BYTES, compared, equal, fold, of, pairs, table
from stepgen.study.figure import FigureResult, Row, Views
from stepgen.study.moe import DYNAMIC_FLOPS, FAIR_MEMORY, FIFOS, STATIC_FLOPS, machine, memory
from stepgen.study.point import PUBLISHED, VIEWS, Point, Value
from stepgen.study.report import VIEW_NAMES, origin
from stepgen.study.traces import Traces
from stepgen.timing.tiles.depths import UNBOUNDED, Depth

DIFFERS = (
    "As published, dynamic tiles have 6400 FLOPs/cycle per operator and static ones 4096, experts "
    "without tokens need no memory only with dynamic tiles, and a load waits for a tile before it "
    "asks for the next; fair, all have 4096, memory is the most that is held at any time, and "
    "loads keep two tiles in flight."
)


def tiling_row(
    traces: Traces,
    view: str,
    model_name: str,
    tokens: int,
    tile: int | str,
    fifos: Depth = FIFOS,
) -> Row:
    """One layer with tiles of `tile` rows, or ``"dynamic"`` ones.

    Bytes do not depend on the depth of FIFOs, cycles are known for those of `FIFOS` only.
    """
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
        **machine(view, flops, fifos),
    )
    known = published.MOE.get((model_name, tokens, tile), {})
    if fifos != FIFOS:
        known = {name: number for name, number in known.items() if name in BYTES}
    labels: dict[str, Value] = {
        "model": model.title,
        "tokens": tokens,
        "tile": tile,
        "FIFOs": fifos,
    }
    return Row(labels, point, known)


def tiling_rows(
    tokens: int, tiles: Sequence[int], *, unbounded: Sequence[str] = ()
) -> Callable[[Traces, str], list[Row]]:
    """The runs of a figure: both models with each of the static tiles and with dynamic ones.

    Models in `unbounded` have them again as published, with unbounded FIFOs.
    """

    def rows(traces: Traces, view: str) -> list[Row]:
        wanted: list[int | str] = [*((2, 4) if traces.small else tiles), "dynamic"]
        again = unbounded if view == PUBLISHED else ()
        return [
            tiling_row(traces, view, model, tokens, tile, fifos)
            for model in ("mixtral", "qwen")
            for fifos in ([FIFOS, UNBOUNDED] if model in again else [FIFOS])
            for tile in wanted
        ]

    return rows


def draw_frontiers(part: Any, results: Sequence[FigureResult]) -> None:
    """Figures 9 and 10: one panel per model, cycles against on-chip memory."""
    models = list(dict.fromkeys(r["model"] for r in results))
    panels = part.subplots(1, len(models), squeeze=False)[0]
    held = memory(results[0].row.point.view)
    for axes, model in zip(panels, models, strict=True):
        own = [r for r in results if r["model"] == model]
        for fifos in dict.fromkeys(r["FIFOs"] for r in own):
            some = [(r[held], r["cycles"], str(r["tile"])) for r in own if r["FIFOs"] == fifos]
            deep = fifos == UNBOUNDED
            plots.frontier(axes, sorted(some), ", unbounded FIFOs" if deep else "", dashed=deep)
        known = [(r.published(held), r.published("cycles")) for r in own]
        plots.hollow(axes, [(x, y) for x, y in known if x and y], "published tables")
        axes.set_xlabel(f"on-chip memory (bytes)\n{model}")
    panels[0].set_ylabel("latency (cycles)")
    plots.legend(part, panels, columns=5)


def with_distance(results: list[FigureResult]) -> list[FigureResult]:
    """Add the Pareto improvement distance of each dynamic point to the static ones of its model.

    It is the factor by which the nearest static point is worse in the metric in which it is worst
    (section 6.1); above 1, no static tile is as good in both.
    """
    held = memory(results[0].row.point.view)
    made = []
    for result in results:
        numbers = dict(result.numbers)
        if result["tile"] == "dynamic":
            static = static_beside(result, results)
            numbers["pareto_distance"] = pareto_distance(result, static, held)
        made.append(FigureResult(result.row, numbers))
    return made


def pareto_distance(one: FigureResult, others: Sequence[FigureResult], held: str) -> float:
    """The factor by which the nearest of the others is worse in cycles or memory, its worst."""
    return min(max(float(r[n] / one[n]) for n in ("cycles", held)) for r in others)


def static_beside(dynamic: FigureResult, results: Sequence[FigureResult]) -> list[FigureResult]:
    """The static tiles that a dynamic point is compared with: same model, same FIFOs."""
    return [
        r
        for r in results
        if {**r.row.labels, "tile": "dynamic"} == dynamic.row.labels and r["tile"] != "dynamic"
    ]


def tiling_claims(views: Views) -> Iterator[str]:
    """Figures 9 and 10: every point, then dynamic tiles beside the frontier of static ones."""
    by_depth = len({p["FIFOs"] for p in views[PUBLISHED]}) > 1
    fifos = ["FIFOs"] if by_depth else []
    bytes_of = ["traffic, bytes", "on-chip, bytes"]
    cycles = ["cycles, published", "as published", "error", "cycles, fair", "peak bytes, fair"]
    yield from table(
        ["model", "tile", *fifos, "input", *bytes_of, *cycles],
        (
            [
                *(str(p[name]) for name in ("model", "tile", *fifos)),
                origin(p),
                equal(p, "traffic"),
                equal(p, "memory_allocated"),
                *compared(p),
                of(f, "cycles"),
                of(f, FAIR_MEMORY),
            ]
            for p, f in pairs(views)
        ),
    )
    yield ""
    yield from _beside_the_frontier(views, fifos)
    if by_depth:
        yield ""
        yield from _of_fifos(views[PUBLISHED])


def _beside_the_frontier(views: Views, fifos: Sequence[str]) -> Iterator[str]:
    rows = []
    for view in VIEWS:
        held = memory(view)
        for dynamic in (r for r in views[view] if r["tile"] == "dynamic"):
            fast = min(static_beside(dynamic, views[view]), key=lambda r: r["cycles"])
            ratios = [fast[n] / dynamic[n] for n in ("cycles", held)]
            rows.append(
                [
                    dynamic["model"],
                    VIEW_NAMES[view],
                    *(dynamic[name] for name in fifos),
                    fold(dynamic["pareto_distance"]),
                    str(fast["tile"]),
                    *map(fold, ratios),
                ]
            )
    heads = ["model", "view", *fifos, "Pareto distance of dynamic tiles", "fastest static tile"]
    yield from table([*heads, "its cycles over dynamic", "its on-chip bytes over dynamic"], rows)


def _of_fifos(results: Sequence[FigureResult]) -> Iterator[str]:
    """How much unbounded FIFOs change."""
    deep = [r for r in results if r["FIFOs"] == UNBOUNDED]
    for model in dict.fromkeys(r["model"] for r in deep):
        changed = []
        for one in (r for r in deep if r["model"] == model):
            (two,) = (
                r
                for r in results
                if {**r.row.labels, "FIFOs": UNBOUNDED} == one.row.labels and r["FIFOs"] == FIFOS
            )
            changed.append((one["cycles"] / two["cycles"] - 1, str(one["tile"])))
        (low, least), (high, most) = min(changed), max(changed)
        yield (
            f"- Unbounded FIFOs change the cycles of {model} by {100 * low:+.1f} % (tile {least}) "
            f"to {100 * high:+.1f} % (tile {most})."
        )


def draw_ratios(part: Any, results: Sequence[FigureResult]) -> None:
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
            base=1,
        )
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set_yscale("log")
        axes.set_xlabel(model)
    plots.logarithmic(panels[0].yaxis)
    panels[0].set_ylabel("ratio to dynamic tiles (log)")
    plots.legend(part, panels)


def _ratio(number: float | None, base: float | None) -> float | None:
    return number / base if number and base else None
