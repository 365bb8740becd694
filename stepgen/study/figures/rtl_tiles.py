"""Circuits: cycles against on-chip memory, of static, capped and dynamic tiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from stepgen.study import plots
from stepgen.study.claims import fold, table
from stepgen.study.experts import (
    LANES,
    REFERENCES,
    ROWS,
    ExpertSchedule,
    Layer,
    labelled,
    layers,
    point,
)
from stepgen.study.figure import Figure, FigureResult, Row, Views
from stepgen.study.point import CIRCUIT
from stepgen.study.report import origin
from stepgen.study.tiling import pareto_distance
from stepgen.study.traces import Traces

HEIGHTS = {"mixtral": (2, 4, 8, 12, 16, 24, 32), "qwen": (2, 4, 8, 16)}
"""By model: rows of static tiles, and most rows of capped ones."""

REGIONS = {"mixtral": None, "qwen": 8}
BUSES = {"mixtral": (32, 64), "qwen": (64,)}

SAME = 1.01
"""Memory that counts as the same: designs of tiles of as many rows differ by their padding."""

DIFFERS = (
    "All designs of a layer have the same matrix units, of 16 multipliers each, the same memory "
    "port, latency 16, and the same routing; what differs is on-chip memory, which is all that the "
    "circuit allocates. Static tiles are padded, capped ones have at most so many rows, a dynamic "
    "one has all rows of an expert; rows are routed to the experts, or references to rows that are "
    "stored once. Mixtral's experts have a region each, Qwen's share eight. A gain is the cycles "
    "of the best static tiles that take no more memory (1 % more at most), over the cycles; the "
    "Pareto distance is the factor by which the nearest static tiles are worse in cycles or "
    "memory, whichever is worse."
)


def _rows(traces: Traces, view: str) -> list[Row]:
    rows = []
    for layer in layers(traces):
        for bus in BUSES[layer.model][-1:] if traces.small else BUSES[layer.model]:
            rows += [_row(traces, layer, bus, one) for one in _schedules(traces, layer)]
    return rows


def _schedules(traces: Traces, layer: Layer) -> list[ExpertSchedule]:
    regions = REGIONS[layer.model]
    heights = (2, 4) if traces.small else HEIGHTS[layer.model]
    return [
        ExpertSchedule(tiling, height, routed, regions and (4 if traces.small else regions))
        for routed in (ROWS, REFERENCES)
        for tiling in ("static", "capped", "dynamic")
        for height in ((None,) if tiling == "dynamic" else heights)
    ]


def _row(traces: Traces, layer: Layer, bus: int, schedule: ExpertSchedule) -> Row:
    labels = {**labelled(layer, schedule), "bus": bus}
    is_sample = layer.model == "mixtral" and schedule.rows in (None, 4)
    made = point(traces, layer, schedule, lanes=LANES, bus_bits=bus)
    return Row(labels, made, sample=is_sample)


def with_gains(results: list[FigureResult]) -> list[FigureResult]:
    """Add how far tiles lie beyond the frontier of static ones.

    ``pareto_distance`` and ``gain`` compare with static tiles of rows and of references, those
    ``_over_rows`` with static tiles of rows alone. There is no gain where no static tiles fit.
    """
    made = []
    for one in results:
        static = [
            r
            for r in results
            if all(r[n] == one[n] for n in ("layer", "bus")) and r["tiles"] == "static"
        ]
        numbers = dict(one.numbers)
        rows = [r for r in static if r["routed"] == ROWS]
        for name, some in (("", static), ("_over_rows", rows)):
            fit = [r["cycles"] for r in some if r["onchip_bits"] <= SAME * one["onchip_bits"]]
            if fit:
                numbers[f"gain{name}"] = min(fit) / one["cycles"]
            numbers[f"pareto_distance{name}"] = pareto_distance(one, some, "onchip_bits")
        made.append(FigureResult(one.row, numbers))
    return made


MARKERS = {"static": "s", "capped": "o", "dynamic": "D"}


def _draw(part: Any, results: Sequence[FigureResult]) -> None:
    keys = list(dict.fromkeys((r["layer"], r["bus"]) for r in results))
    panels = part.subplots(1, len(keys), squeeze=False)[0]
    for axes, (layer, bus) in zip(panels, keys, strict=True):
        own = [r for r in results if (r["layer"], r["bus"]) == (layer, bus)]
        for tiles, color in plots.TILES.items():
            for routed in (ROWS, REFERENCES):
                some = [r for r in own if (r["tiles"], r["routed"]) == (tiles, routed)]
                _points(axes, tiles, routed, color, some)
        _frontier(axes, [r for r in own if r["tiles"] == "static"], plots.TILES["static"], "static")
        moving = [r for r in own if r["tiles"] != "static"]
        _frontier(axes, moving, plots.TILES["capped"], "capped and dynamic")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.margins(x=0.12, y=0.08)
        plots.logarithmic(axes.xaxis)
        plots.logarithmic(axes.yaxis)
        axes.grid(True, alpha=0.25)
        axes.set_xlabel("on-chip memory (bits)")
        axes.set_title(f"{layer.replace(', ', chr(10))}\nbus of {bus} bits", fontsize="small")
    panels[0].set_ylabel("cycles")
    plots.legend(part, panels, columns=4)


def _points(axes: Any, tiles: str, routed: str, color: str, some: Sequence[FigureResult]) -> None:
    """The designs of one kind of tiles, with their rows beside them."""
    face = color if routed == ROWS else "white"
    axes.plot(
        [r["onchip_bits"] for r in some], [r["cycles"] for r in some], MARKERS[tiles],
        color=color, markerfacecolor=face, linestyle="", label=f"{tiles}, {routed} routed",
    )  # fmt: skip
    for r in some:
        if tiles != "dynamic":
            below = tiles == "capped"
            axes.annotate(
                str(r["rows"]), (r["onchip_bits"], r["cycles"]), (-4, -9) if below else (4, 4),
                textcoords="offset points", fontsize="x-small", color=color,
                ha="right" if below else "left",
            )  # fmt: skip


def _frontier(axes: Any, some: Sequence[FigureResult], color: str, name: str) -> None:
    """Steps: the fewest cycles of all designs that fit into so much memory."""
    best: list[tuple[int, int]] = []
    for r in sorted(some, key=lambda r: (r["onchip_bits"], r["cycles"])):
        if not best or r["cycles"] < best[-1][1]:
            best.append((r["onchip_bits"], r["cycles"]))
    best.append((max(r["onchip_bits"] for r in some), best[-1][1]))
    axes.plot(
        [x for x, _ in best], [y for _, y in best], color=color, drawstyle="steps-post",
        linewidth=1.2, alpha=0.7, zorder=1, label=f"frontier, {name}",
    )  # fmt: skip


def _claims(views: Views) -> Iterator[str]:
    results = views[CIRCUIT]
    heads = ("layer", "bus", "input", "tiles", "rows", "routed", "on-chip bits", "cycles")
    gains = ("gain", "gain_over_rows", "pareto_distance", "pareto_distance_over_rows")
    titles = ("gain", "gain over static rows", "Pareto distance", "from static rows")
    yield from table(
        (*heads, *titles),
        (
            [
                r["layer"], r["bus"], origin(r), r["tiles"], str(r["rows"]), r["routed"],
                r["onchip_bits"], r["cycles"],
                *(fold(r.numbers[g]) if g in r.numbers else None for g in gains),
            ]
            for r in results
        ),
    )  # fmt: skip
    yield ""
    for layer, bus in dict.fromkeys((r["layer"], r["bus"]) for r in results):
        own = [r for r in results if (r["layer"], r["bus"]) == (layer, bus)]
        moving = [r for r in own if r["tiles"] != "static"]
        sentence = [f"- {layer}, bus of {bus} bits, Pareto distance"]
        for name, what in (("", "all static tiles"), ("_over_rows", "static tiles of rows")):
            best = max(moving, key=lambda r: r[f"pareto_distance{name}"])
            sentence.append(f"from {what} {fold(best[f'pareto_distance{name}'])} ({_named(best)})")
        fast = min(moving, key=lambda r: r["cycles"])
        sentence.append(f"of the fastest {fold(fast['pareto_distance'])} ({_named(fast)})")
        yield f"{sentence[0]} {', '.join(sentence[1:])}."


def _named(result: FigureResult) -> str:
    rows = "" if result["tiles"] == "dynamic" else f" with {result['rows']} rows"
    return f"{result['tiles']}{rows}, {result['routed']} routed"


FIGURE = Figure(
    "rtl-tiles",
    "Tiles of experts on generated circuits: cycles against on-chip memory",
    DIFFERS,
    _rows,
    _draw,
    shown=("cycles", "onchip_bits", "traffic", "gain", "gain_over_rows", "pareto_distance"),
    derive=with_gains,
    claims=_claims,
    by="layer",
    size=(13.0, 4.6),
    views=(CIRCUIT,),
    group="rtl",
)
