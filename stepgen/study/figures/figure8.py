"""Figure 8: cycles against off-chip traffic of a SwiGLU layer, over tile sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from stepgen.study import plots, published
from stepgen.study.claims import compared, equal, of, pairs, table
from stepgen.study.figure import Figure, FigureResult, Row, Views
from stepgen.study.point import PUBLISHED, Point, Value
from stepgen.study.traces import Traces

BATCH_TILES, INNER_TILES = (16, 32, 64), (16, 32, 64, 128, 256)


def _rows(traces: Traces, view: str) -> list[Row]:
    if traces.small:
        tiles, sizes = [(8, 16), (16, 32)], {"batch": 16, "width": 16, "inner": 32}
    else:
        tiles = [(batch, inner) for batch in BATCH_TILES for inner in INNER_TILES]
        sizes = {"batch": 64, "width": 256, "inner": 512}
    return [_row(view, sizes, batch, inner) for batch, inner in tiles]


def _row(view: str, sizes: dict[str, int], batch: int, inner: int) -> Row:
    changes = {
        "compute.flops": 4096,
        "onchip_bandwidth": 256,
        "memory.channels": 8,
        "memory.requests_per_cycle": 4,
        "fifo_depth": 1 if view == PUBLISHED else 2,
    }
    options: dict[str, Value] = {
        **sizes,
        "tile_batch": batch,
        "tile_inner": inner,
        "element": "f32",
        "data": False,
    }
    point = Point(
        "swiglu",
        options,
        machine="sda-published" if view == PUBLISHED else "sda",
        changes=changes,
        view=view,
    )
    known = published.SWIGLU.get((batch, inner), {})
    return Row({"batch tile": batch, "inner tile": inner}, point, known)


def _draw(part: Any, results: Sequence[FigureResult]) -> None:
    axes = part.subplots()
    for i, tile in enumerate(dict.fromkeys(r["batch tile"] for r in results)):
        own = [r for r in results if r["batch tile"] == tile]
        points = [(r["traffic"], r["cycles"]) for r in own]
        axes.plot(
            *zip(*points, strict=True), "os^"[i % 3], color=plots.CYCLE[i], linestyle="-",
            linewidth=0.8, label=f"batch tile {tile}, at each point its inner tile",
        )  # fmt: skip
        for result, point in zip(own, points, strict=True):
            last = result is own[-1]  # whose neighbour is too near for texts side by side
            axes.annotate(
                str(result["inner tile"]), point, (-8, -3) if last else (0, (8, -15)[i % 2]),
                ha="right" if last else "center", textcoords="offset points", fontsize="x-small",
                color=plots.CYCLE[i],
            )  # fmt: skip
    known = [r.row.known for r in results if r.published("cycles")]
    plots.hollow(axes, [(k["traffic"], k["cycles"]) for k in known], "published simulator")
    if known:
        axes.plot(
            [k["traffic"] for k in known], [k["hdl_cycles"] for k in known], "kx",
            label="published HDL",
        )  # fmt: skip
    axes.set_xlabel("off-chip traffic (bytes)")
    axes.set_ylabel("cycles")
    axes.margins(x=0.08, y=0.15)
    axes.set_ylim(0, None)
    for axis in (axes.xaxis, axes.yaxis):
        plots.engineering(axis)
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize="small")


def _claims(views: Views) -> Iterator[str]:
    yield from table(
        (
            "batch tile",
            "inner tile",
            "traffic, bytes",
            "on-chip, bytes",
            "cycles, published simulator",
            "as published",
            "error",
            "cycles, fair",
            "cycles, published HDL",
        ),
        (
            (
                *p.row.labels.values(),
                equal(p, "traffic"),
                equal(p, "memory_allocated"),
                *compared(p),
                of(f, "cycles"),
                p.published("hdl_cycles"),
            )
            for p, f in pairs(views)
        ),
    )


FIGURE = Figure(
    "8",
    "A SwiGLU layer of 64 rows over tile sizes",
    "As published, FIFOs hold one tile, an operator reads its operands one after the other, and "
    "each load waits for a tile before it asks for the next; fair, FIFOs hold two, operands lie in "
    "memories of their own, and loads keep two tiles in flight.",
    _rows,
    _draw,
    shown=("cycles", "traffic", "memory_allocated", "memory_peak", "bandwidth_utilization"),
    claims=_claims,
    size=(8.0, 4.4),
)
