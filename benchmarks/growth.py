"""(f2) Seconds over the number of tiles that move."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from benchmarks.table import Table
from examples.moe_swiglu import moe_swiglu
from stepgen.ir.graph import Graph
from stepgen.program.tiles import simulate
from stepgen.timing.tiles.machines import SDA

BATCHES = (64, 256, 1024, 4096)
TILES = (1, 4, 16, 64)
REPEATS = 5


def measure() -> Table:
    """Mixtral: batches with tiles of 16 rows and dynamic ones, and tiles of other rows."""
    lines = []
    for tokens in BATCHES:
        lines.append(_line(tokens, "16", tiling="static", tile=16))
    for tile in TILES:
        lines.append(_line(BATCHES[0], str(tile), tiling="static", tile=tile))
    for tokens in BATCHES:
        lines.append(_line(tokens, "dynamic", tiling="dynamic"))
    return Table(
        "f2. Seconds grow with the tiles that move",
        "Mixtral-8x7B, drawn routing, the machine sda, one process; best of "
        f"{REPEATS}. Tiles: elements that all operators emitted. Linear growth shows as a constant "
        "last column, once the tiles outweigh laying out the program.",
        ("tokens", "tile", "tiles", "cycles", "run s", "us per tile"),
        lines,
    )


def _line(tokens: int, called: str, **tiling: Any) -> tuple[str, ...]:
    graph, inputs = moe_swiglu("mixtral", tokens=tokens, data=False, **tiling)
    seconds, tiles, cycles = min(_run(graph, inputs) for _ in range(REPEATS))
    return (
        f"{tokens:,}",
        called,
        f"{tiles:,}",
        f"{cycles:,}",
        f"{seconds:.3f}",
        f"{1e6 * seconds / tiles:.2f}",
    )


def _run(graph: Graph, inputs: dict[str, Any]) -> tuple[float, int, int]:
    start = perf_counter()
    run = simulate(graph, inputs, SDA)
    seconds = perf_counter() - start
    return seconds, sum(o.tokens for o in run.operators.values()), run.cycles
