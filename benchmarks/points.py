"""(f1) Seconds of a full-size point, beside those of the published simulator."""

from __future__ import annotations

from time import perf_counter

from benchmarks.apart import apart
from benchmarks.table import Table
from stepgen.program.tiles import simulate
from stepgen.study import attention, moe, published, tiling
from stepgen.study.evaluate import build
from stepgen.study.figure import Row
from stepgen.study.point import PUBLISHED, Point
from stepgen.study.traces import found
from stepgen.timing.tiles.variants import variant

REPEATS = 5


def seconds(point: Point) -> tuple[float, float, float, int]:
    """Seconds to build, to run, to run the first time in a process, and tiles that moved."""
    building, running = [], []
    for _ in range(REPEATS):
        start = perf_counter()
        graph, inputs = build(point)
        built = perf_counter()
        run = simulate(graph, inputs, variant(point.machine, point.changes))
        building.append(built - start)
        running.append(perf_counter() - built)
    tiles = sum(operator.tokens for operator in run.operators.values())
    return min(building), min(running), building[0] + running[0], tiles


def rows() -> list[tuple[str, Row]]:
    """The points with their names."""
    traces = found(None)
    points = [
        (f"{model}, {tokens} tokens, {tile if tile == 'dynamic' else f'tile {tile}'}",
         tiling.tiling_row(traces, PUBLISHED, model, tokens, tile))
        for model, tokens, tiles in (
            ("mixtral", 64, (8, 16, 64, "dynamic")),
            ("qwen", 64, (16, 64, "dynamic")),
            ("mixtral", 1024, (256, "dynamic")),
            ("qwen", 1024, (256, "dynamic")),
        )
        for tile in tiles
    ]  # fmt: skip
    points += [
        (f"qwen, 64 tokens, {tiling}, {regions} regions",
         moe.regions_row(traces, PUBLISHED, tiling, regions))
        for tiling in ("static", "dynamic")
        for regions in (128, 8)
    ]  # fmt: skip
    _, stdev, first = published.batches(64)[0]
    batch = traces.lengths(64, stdev, first)
    for how in ("coarse", "dynamic"):
        row = attention.row(PUBLISHED, batch, how, {})
        points.append((f"attention, 64 requests, {how}", row))
    return points


def measure() -> Table:
    """Every point in a process of its own."""
    lines = []
    for name, row in rows():
        (building, running, first, tiles), peak = apart(seconds, row.point)
        known = row.known.get("seconds")
        lines.append(
            (
                name,
                row.point.origin,
                f"{tiles:,}",
                f"{building:.2f}",
                f"{running:.2f}",
                f"{1e6 * running / tiles:.2f}",
                f"{first:.1f}",
                f"{peak:,.0f}",
                f"{known:,.0f}" if known else "",
                f"{known / (building + running):,.0f}" if known else "",
            )
        )
    return Table(
        "f1. A full-size point",
        "One point in a process of its own on one core, as published; best of "
        f"{REPEATS}. First: with what a fresh process loads once. Tiles: elements that all "
        "operators emitted. The published simulator's seconds are those of its public results, on "
        "another machine (all of its figures: 24.5 hours on 8 cores).",
        (
            "point",
            "trace",
            "tiles",
            "build s",
            "run s",
            "us per tile",
            "first s",
            "peak MB",
            "published s",
            "ratio",
        ),
        lines,
    )
