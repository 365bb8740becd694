"""Runs of the mixture of experts that Figures 9, 10, 12, 13, 19 and 20 share."""

from __future__ import annotations

from typing import Any

from stepgen.study import published
from stepgen.study.figure import Row
from stepgen.study.point import PUBLISHED, Point, Transform, Value
from stepgen.study.traces import Traces
from stepgen.timing.tiles.depths import Depth

STATIC_FLOPS, DYNAMIC_FLOPS = 4096, 6400
"""FLOPs per cycle that the published runs gave to operators with static and with dynamic tiles."""

SHARED_FLOPS = 1024
"""Of the runs with time-multiplexing, per operator."""

FIFOS: Depth = 2
"""Depth of FIFOs, but for the plot of Figure 10."""

FAIR_MEMORY = "memory_peak"
"""What the fair view calls on-chip memory: the most bytes held at any time, by one rule for all."""


def memory(view: str) -> str:
    """The number that is on-chip memory in a view."""
    return "memory_allocated" if view == PUBLISHED else FAIR_MEMORY


def machine(view: str, flops: int, fifos: Depth = FIFOS) -> dict[str, Any]:
    """Machine and changes of a point of a view."""
    name = "sda-published" if view == PUBLISHED else "sda"
    return {
        "view": view,
        "machine": name,
        "changes": {"compute.flops": flops, "fifo_depth": fifos},
    }


def regions_row(traces: Traces, view: str, tiling: str, regions: int) -> Row:
    """One layer of Qwen whose experts share regions."""
    model = traces.model("qwen")
    experts = model.sizes["experts"]
    tiles: dict[str, Value] = {"tiling": tiling, "tile": 32} if tiling == "static" else {}
    options: dict[str, Value] = {
        **model.options, "tokens": traces.batch(64), "columns": 48, **tiles, "data": False,
    }  # fmt: skip
    shared = () if regions == experts else (Transform("time_multiplex", {"regions": regions}),)
    point = Point(
        "moe_swiglu",
        options,
        {"routing": traces.routing(model, 64)},
        shared,
        **machine(view, SHARED_FLOPS),
    )
    labels: dict[str, Value] = {
        "tiling": tiling,
        "regions": regions,
        "experts per region": experts // regions,
    }
    return Row(labels, point, {} if traces.small else published.time_multiplexing(tiling, regions))


def region_counts(traces: Traces, tiling: str) -> list[int]:
    """The sweep of Figures 12 and 13; the published static one ends at 4 regions."""
    experts = traces.model("qwen").sizes["experts"]
    fewest = 4 if tiling == "static" and not traces.small else 2
    return [experts >> i for i in range(experts.bit_length()) if experts >> i >= fewest]
