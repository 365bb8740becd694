"""(c) Cycles against the lower bound, static and dynamic tiles, over skewed routings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.programs import moe
from benchmarks.table import Table
from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.table import Bus
from stepgen.ir.graph import Graph

LANES = 4
BUS = Bus(data_bits=64, outstanding=16)
TILINGS: dict[str, dict[str, object]] = {
    "static": {"tiling": "static"},
    "dynamic": {"tiling": "dynamic"},
    "dynamic, results by columns": {"tiling": "dynamic", "results": "columns"},
}
SETTINGS: dict[str, dict[str, object]] = {
    "demo": {},
    "wider": {"width": 512, "hidden": 256, "columns": 16},
}


def lower_bound(experiment: Experiment, *, tile: int | None) -> tuple[int, int]:
    """Cycles that no schedule of this tiling can beat, by memory and by arithmetic.

    Returns
    -------
    weights : int
        Weight bytes of this tiling over the width of the bus.
    products : int
        Multiplications of the busiest expert over the multipliers of its matrix unit.
    """
    tokens = np.asarray(experiment.inputs["route"]).sum(axis=0)
    width, hidden = experiment.graph.tensors["w0"].shape
    tiles = np.ceil(tokens / tile) if tile else np.minimum(tokens, 1)
    rows = tiles * tile if tile else tokens
    weights = int(tiles.sum()) * width * hidden // experiment.bus.bytes
    products = int(rows.max()) * width * hidden // experiment.lanes**2
    return weights, products


def measure() -> Table:
    """Sizes, skews and tilings; the model's cycles, which the RTL's equal."""
    rows = []
    for name, sizes in SETTINGS.items():
        for skew in (0.0, 0.5, 1.0):
            for tiling, settings in TILINGS.items():
                program: tuple[Graph, Mapping[str, Any]] = moe(skew=skew, **settings, **sizes)
                experiment = Experiment(*program, lanes=LANES, bus=BUS)
                tile = 4 if tiling == "static" else None
                weights, products = lower_bound(experiment, tile=tile)
                cycles = experiment.prediction.cycles
                bound = max(weights, products)
                rows.append(
                    (
                        name,
                        skew,
                        tiling,
                        f"{weights:,}",
                        f"{products:,}",
                        f"{cycles:,}",
                        f"{cycles / bound:.3f}",
                    )
                )
    return Table(
        "c. Cycles against the lower bound",
        "MoE layer, 64 tokens, top 2 of 8 experts, 4 lanes, bus of 64 bits, memory latency 16. "
        "The bound is max(weight bytes / bus width, multiplications of the busiest expert / its "
        "multipliers). demo: 64 x 256 weights in tiles of 64 columns, of 8 where results leave by "
        "columns; wider: 512 x 256 in tiles of 16. What the bound leaves out weighs in the demo: "
        "all tokens must be there before a dynamic tile ends, and all columns before a row of "
        "results leaves through the one merge (8,192 beats), unless results leave by columns; "
        "with 512 columns per dot product it weighs less.",
        ("size", "skew", "tiling", "weights", "products", "cycles", "cycles / bound"),
        rows,
    )
