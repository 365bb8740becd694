"""Figure 10: cycles against on-chip memory, static and dynamic tiles, 1024 tokens."""

from __future__ import annotations

from stepgen.study.figure import Figure
from stepgen.study.tiling import DIFFERS, draw_frontiers, tiling_claims, tiling_rows, with_distance

FIGURE = Figure(
    "10",
    "Mixture of experts, 1024 tokens: cycles against on-chip memory",
    DIFFERS,
    tiling_rows(1024, (16, 32, 64, 128, 256, 512, 1024), unbounded=["qwen"]),
    draw_frontiers,
    by="model",
    shown=("cycles", "traffic", "memory_allocated", "memory_peak", "pareto_distance"),
    derive=with_distance,
    claims=tiling_claims,
)
