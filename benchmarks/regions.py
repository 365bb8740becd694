"""(k2) Experts on fewer regions: cycles, multipliers, utilization and memory of the circuits."""

from __future__ import annotations

from itertools import product

from stepgen.compile.cost import on_chip_bits
from stepgen.compile.transforms import time_multiplex
from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.table import Bus
from stepgen.hw.units.matmul.params import Matmul
from stepgen.ir.memory_timing import MemoryTiming

from .programs import moe
from .table import Table

TOKENS, TOP, EXPERTS, WIDTH, HIDDEN = 64, 2, 8, 64, 256
PRODUCTS = TOKENS * TOP * WIDTH * HIDDEN
REGIONS = (8, 4, 2, 1)
TILINGS = (("dynamic", 16), ("capped", 16), ("static", 16))
MEMORIES = ((4, 32, 4), (4, 32, 1), (4, 64, 1), (8, 64, 1))
"""Lanes, bits of the bus, cycles from word to word."""


def measure() -> Table:
    """The model's cycles, which the RTL's equal, and the bits of the design table."""
    rows = []
    for (lanes, bits, interval), (tiling, tile) in product(MEMORIES, TILINGS):
        alone = 0
        for regions in REGIONS:
            graph, inputs = moe(tiling=tiling, tile=tile)
            new = time_multiplex(graph, regions=regions)
            run = Experiment(
                new.graph,
                new.inputs(inputs),
                lanes=lanes,
                bus=Bus(data_bits=bits),
                memory=MemoryTiming(read_interval=interval),
            )
            units = [u for u in run.design.units if isinstance(u.params, Matmul)]
            multipliers = sum(u.params.multipliers(run.design) for u in units)
            cycles = run.prediction.cycles
            alone = alone or cycles
            rows.append(
                (
                    lanes,
                    f"{bits / 8 / interval:g}",
                    tiling,
                    regions,
                    f"{cycles:,}",
                    f"{100 * (cycles / alone - 1):+.1f} %",
                    multipliers,
                    f"{100 * PRODUCTS / multipliers / cycles:.1f} %",
                    f"{on_chip_bits(run.design):,}",
                )
            )
    return Table(
        "k2. Experts on fewer regions",
        f"The demo: MoE layer, {TOKENS} tokens, top {TOP} of {EXPERTS} experts of {WIDTH} x "
        f"{HIDDEN} weights in tiles of {WIDTH} x 64, memory latency 16, default routing. "
        f"`time_multiplex` lets experts take turns on regions; with {EXPERTS} each has its own. "
        "Tiles have 16 rows, capped ones at most, dynamic ones all of an expert. Utilization: "
        "products that are needed, by those that all matrix units could make in the cycles of the "
        "run; padding is not needed. A region has lanes x lanes multipliers; the memory gives so "
        "many bytes in a cycle.",
        (
            *("lanes", "bytes", "tiles", "regions", "cycles", "against 8 regions"),
            *("multipliers", "utilization", "on-chip bits"),
        ),
        rows,
    )
