"""Figure 20: cycles, traffic and memory of static tiles over those of dynamic ones, 1024 tokens."""

from __future__ import annotations

from stepgen.study.figure import Figure
from stepgen.study.tiling import DIFFERS, draw_ratios, tiling_rows

FIGURE = Figure(
    "20",
    "Mixture of experts, 1024 tokens: static tiles relative to dynamic ones",
    DIFFERS,
    tiling_rows(1024, (256, 1024)),
    draw_ratios,
    by="model",
    shown=("cycles", "traffic", "memory_allocated", "memory_peak"),
)
