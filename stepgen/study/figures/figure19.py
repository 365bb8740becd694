"""Figure 19: cycles, traffic and memory of static tiles over those of dynamic ones, 64 tokens."""

from __future__ import annotations

from stepgen.study.figure import Figure
from stepgen.study.tiling import DIFFERS, draw_ratios, tiling_rows

FIGURE = Figure(
    "19",
    "Mixture of experts, 64 tokens: static tiles relative to dynamic ones",
    DIFFERS,
    tiling_rows(64, (16, 64)),
    draw_ratios,
    by="model",
    shown=("cycles", "traffic", "memory_allocated", "memory_peak"),
)
