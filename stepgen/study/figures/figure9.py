"""Figure 9: cycles against on-chip memory, static and dynamic tiles, 64 tokens."""

from __future__ import annotations

from stepgen.study.figure import Figure
from stepgen.study.tiling import DIFFERS, draw_frontiers, tiling_claims, tiling_rows, with_distance

FIGURE = Figure(
    "9",
    "Mixture of experts, 64 tokens: cycles against on-chip memory",
    DIFFERS,
    tiling_rows(64, (8, 16, 32, 64)),
    draw_frontiers,
    by="model",
    shown=("cycles", "traffic", "memory_allocated", "memory_peak", "pareto_distance"),
    derive=with_distance,
    claims=tiling_claims,
)
