"""Circuits: experts that take turns on fewer and fewer regions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from stepgen.study import plots
from stepgen.study.circuit import ESTIMATED
from stepgen.study.claims import fold, table
from stepgen.study.experts import ExpertSchedule, Layer, layers, point, utilization
from stepgen.study.figure import Figure, FigureResult, Row, Views
from stepgen.study.point import CIRCUIT, Value
from stepgen.study.report import origin
from stepgen.study.traces import Traces

MEMORIES = {"mixtral": ((4, 32), (4, 64), (8, 64)), "qwen": ((4, 64),)}
"""By model: lanes, and bits of the bus."""

REGIONS = {"mixtral": (8, 4, 2, 1), "qwen": (128, 32, 8, 4)}
TILES = {
    "mixtral": (
        ExpertSchedule("static", 16),
        ExpertSchedule("capped", 16),
        ExpertSchedule("dynamic"),
    ),
    "qwen": (ExpertSchedule("static", 8), ExpertSchedule("dynamic")),
}

ESTIMATE = (4, 64)
"""Of these, logic is estimated, for capped tiles."""

QUARTER = 4
"""Of so many regions one is left where the goal is read."""

DIFFERS = (
    "Designs of a layer differ in regions: with as many as experts each has its own, else experts "
    "take turns. A region has lanes x lanes multipliers, so fewer regions have fewer multipliers "
    "together; the memory port gives so many bytes in a cycle to all of them, latency 16; on-chip "
    "memory is what each needs. Utilization: products that are needed, without padding, by those "
    "that all matrix units could make in the cycles of the run. LUT and FF of an ECP5 are "
    "estimated, for capped tiles with 4 lanes and a bus of 64 bits."
)


def _rows(traces: Traces, view: str) -> list[Row]:
    return [
        _row(traces, layer, memory, tiles, regions)
        for layer in layers(traces)
        for memory in (((4, 64),) if traces.small else MEMORIES[layer.model])
        for tiles in TILES[layer.model]
        for regions in ((4, 2, 1) if traces.small else REGIONS[layer.model])
    ]


def _row(
    traces: Traces, layer: Layer, memory: tuple[int, int], tiles: ExpertSchedule, regions: int
) -> Row:
    lanes, bits = memory
    made = point(
        traces,
        layer,
        ExpertSchedule(tiles.tiling, tiles.rows, regions=regions),
        lanes=lanes,
        bus_bits=bits,
        estimate=tiles.tiling == "capped" and memory == ESTIMATE and not traces.small,
    )
    labels: dict[str, Value] = {
        "layer": layer.title,
        "lanes": lanes,
        "bytes": bits // 8,
        "tiles": tiles.tiling,
        "regions": regions,
    }
    return Row(labels, made, sample=traces.small or (layer.model == "mixtral" and regions == 2))


KEYS = ("layer", "lanes", "bytes", "tiles")


def with_ratios(results: list[FigureResult]) -> list[FigureResult]:
    """Add utilization, and cycles and utilization over those with the most regions."""
    made = []
    for one in results:
        first = max(_alike(one, results), key=lambda r: r["regions"])
        numbers = {
            **one.numbers,
            "matrix_utilization": utilization(one),
            "slower": one["cycles"] / first["cycles"],
            "better_used": utilization(one) / utilization(first),
        }
        made.append(FigureResult(one.row, numbers))
    return made


def _alike(one: FigureResult, results: Sequence[FigureResult]) -> list[FigureResult]:
    return [r for r in results if all(r[key] == one[key] for key in KEYS)]


def _draw(part: Any, results: Sequence[FigureResult]) -> None:
    keys = list(dict.fromkeys((r["layer"], r["lanes"], r["bytes"]) for r in results))
    panels = part.subplots(3, len(keys), sharex="col", sharey="row", squeeze=False)
    for column, key in zip(panels.T, keys, strict=True):
        own = [r for r in results if (r["layer"], r["lanes"], r["bytes"]) == key]
        kinds = list(dict.fromkeys(r["tiles"] for r in own))
        regions = list(dict.fromkeys(r["regions"] for r in own))
        for axes, number, factor in zip(
            column, ("slower", "matrix_utilization", "onchip_bits"), (1, 100, 1), strict=True
        ):
            plots.lines(
                axes,
                regions,
                {
                    f"{kind} tiles": [factor * r[number] for r in own if r["tiles"] == kind]
                    for kind in kinds
                },
                colors={f"{kind} tiles": plots.TILES[kind] for kind in kinds},
            )
        column[0].axhline(1, color="grey", linewidth=0.8)
        column[0].set_yscale("log")
        title = "\n".join(key[0].split(", "))
        column[0].set_title(f"{title}\n{key[1]} lanes, {key[2]} bytes/cycle", fontsize="small")
        column[2].set_xlabel("regions")
    plots.factors(panels[0, 0].yaxis)
    plots.engineering(panels[2, 0].yaxis)
    labels = (
        "cycles, over those of\nthe most regions",
        "multipliers in use (%)",
        "on-chip memory (bits)",
    )
    for axes, label in zip(panels[:, 0], labels, strict=True):
        axes.set_ylabel(label)
    for row in panels[1:]:
        row[0].set_ylim(0, None)
    plots.legend(part, panels.flat)


def _claims(views: Views) -> Iterator[str]:
    results = views[CIRCUIT]
    labels = ("layer", "lanes", "bytes/cycle", "tiles", "regions", "input")
    numbers = ("cycles", "over", "multipliers", "utilization", "over", "on-chip bits", "LUT", "FF")
    yield from table(
        (*labels, *numbers, "block RAM"),
        (
            [
                r["layer"], r["lanes"], f"{r['bytes']}", r["tiles"], r["regions"], origin(r),
                r["cycles"], fold(r["slower"]), r["multipliers"],
                f"{100 * r['matrix_utilization']:.1f} %", fold(r["better_used"]),
                r["onchip_bits"], *(r.numbers.get(name) for name in ESTIMATED),
            ]
            for r in results
        ),
    )  # fmt: skip
    yield ""
    yield from _equal_totals(results)
    yield ""
    for key in dict.fromkeys(tuple(r[k] for k in KEYS) for r in results):
        own = [r for r in results if tuple(r[k] for k in KEYS) == key]
        few = [r for r in own if r["regions"] * QUARTER == own[0]["regions"]]
        for r in few:
            yield (
                f"- {r['layer']}, {r['lanes']} lanes, {r['bytes']} bytes/cycle, {r['tiles']} "
                f"tiles: from {own[0]['regions']} to {r['regions']} regions "
                f"{fold(r['better_used'])} times the utilization at "
                f"{100 * (r['slower'] - 1):+.1f} % of the cycles."
            )


def _equal_totals(results: Sequence[FigureResult]) -> Iterator[str]:
    """Designs with the same port and as many multipliers in all, in fewer but larger regions."""
    rows = []
    for one in results:
        for other in results:
            if (
                all(one[k] == other[k] for k in ("layer", "bytes", "tiles", "multipliers"))
                and one["lanes"] < other["lanes"]
            ):
                rows.append(
                    [
                        one["layer"], f"{one['bytes']}", one["tiles"], one["multipliers"],
                        f"{one['regions']} x {one['lanes'] ** 2}",
                        f"{other['regions']} x {other['lanes'] ** 2}",
                        one["cycles"], other["cycles"], fold(other["cycles"] / one["cycles"]),
                        one["onchip_bits"], other["onchip_bits"],
                    ]
                )  # fmt: skip
    heads = ("layer", "bytes/cycle", "tiles", "multipliers", "many regions", "few regions")
    more = ("cycles, many", "cycles, few", "few over many", "on-chip bits, many", "and few")
    yield from table((*heads, *more), rows)


FIGURE = Figure(
    "rtl-regions",
    "Experts that take turns on regions, on generated circuits",
    DIFFERS,
    _rows,
    _draw,
    shown=("cycles", "slower", "multipliers", "matrix_utilization", "onchip_bits", *ESTIMATED),
    derive=with_ratios,
    claims=_claims,
    by="layer",
    size=(13.0, 7.0),
    views=(CIRCUIT,),
    group="rtl",
)
