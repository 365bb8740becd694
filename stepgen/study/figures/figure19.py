"""Figure 19: cycles, traffic and memory of static tiles over those of dynamic ones, 64 tokens."""

from __future__ import annotations

from ..figure import Figure, Row
from ..moe import DIFFERS, draw_ratios, tiling_row
from ..traces import Traces

TILES = (16, 64)


def _rows(traces: Traces, view: str) -> list[Row]:
    tiles = (2, 4) if traces.small else TILES
    return [
        tiling_row(traces, view, model, 64, tile)
        for model in ("mixtral", "qwen")
        for tile in (*tiles, "dynamic")
    ]


FIGURE = Figure(
    "19",
    "Mixture of experts, 64 tokens: static tiles relative to dynamic ones",
    DIFFERS,
    _rows,
    draw_ratios,
    by="model",
    shown=("cycles", "traffic", "memory_allocated", "memory_peak"),
)
