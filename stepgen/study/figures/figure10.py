"""Figure 10: cycles against on-chip memory, static and dynamic tiles, 1024 tokens."""

from __future__ import annotations

from ..figure import Figure, Row
from ..moe import DIFFERS, draw_frontiers, tiling_row, with_distance
from ..traces import Traces

TILES = (16, 32, 64, 128, 256, 512, 1024)


def _rows(traces: Traces, view: str) -> list[Row]:
    tiles = (2, 4) if traces.small else TILES
    return [
        tiling_row(traces, view, model, 1024, tile)
        for model in ("mixtral", "qwen")
        for tile in (*tiles, "dynamic")
    ]


FIGURE = Figure(
    "10",
    "Mixture of experts, 1024 tokens: cycles against on-chip memory",
    DIFFERS,
    _rows,
    draw_frontiers,
    by="model",
    shown=("cycles", "traffic", "memory_allocated", "memory_peak", "pareto_distance"),
    derive=with_distance,
)
