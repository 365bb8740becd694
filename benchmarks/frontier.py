"""(k) Cycles against on-chip memory: static tiles, dynamic ones, and dynamic ones with a cap."""

from __future__ import annotations

from stepgen.compile.cost import on_chip_bits
from stepgen.compile.lower import lower
from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.table import Bus

from .programs import moe
from .table import Table

LANES = 4
ROWS = (2, 4, 8, 12, 16, 24, 32)
SCHEDULES = (
    *(("static", rows) for rows in ROWS),
    *(("capped", rows) for rows in ROWS),
    ("dynamic", 64),
)
WIDTHS = (32, 64)
SAME = 1.01
"""Memory that counts as the same: designs of tiles of as many rows differ by their padding."""


def measure() -> Table:
    """The model's cycles, which the RTL's equal, and the bits of the design table."""
    cycles: dict[tuple[int, str, int], int] = {}
    bits: dict[tuple[str, int], int] = {}
    for tiling, tile in SCHEDULES:
        graph, inputs = moe(tiling=tiling, tile=min(tile, max(ROWS)))
        bits[tiling, tile] = on_chip_bits(lower(graph, lanes=LANES))
        for width in WIDTHS:
            experiment = Experiment(graph, inputs, lanes=LANES, bus=Bus(data_bits=width))
            cycles[width, tiling, tile] = experiment.prediction.cycles

    def gain(width: int, tiling: str, tile: int) -> str:
        """Cycles of the best static tiles that fit into the same memory, by those of this one."""
        fit = [
            cycles[width, other, rows]
            for other, rows in bits
            if other == "static" and bits[other, rows] <= SAME * bits[tiling, tile]
        ]
        return f"{min(fit) / cycles[width, tiling, tile]:.2f}" if fit else ""

    rows = [
        (
            tiling,
            "any" if tiling == "dynamic" else tile,
            f"{bits[tiling, tile]:,}",
            *(
                text
                for width in WIDTHS
                for text in (f"{cycles[width, tiling, tile]:,}", gain(width, tiling, tile))
            ),
        )
        for tiling, tile in SCHEDULES
    ]
    return Table(
        "k. Cycles against on-chip memory",
        "The demo: MoE layer, 64 tokens, top 2 of 8 experts of 64 x 256 weights, 4 lanes, memory "
        "latency 16, default routing. Static tiles are padded; capped ones have at most so many "
        "rows; a dynamic one has all rows of an expert. On-chip bits are those of all FIFOs and "
        "memories for a bus of 64 bits. The gain is the cycles of the best static tiles that take "
        "no more memory (1 % more at most), divided by the cycles.",
        (
            *("tiles", "rows", "on-chip bits"),
            *(head for n in WIDTHS for head in (f"cycles, {n} bits", f"gain, {n} bits")),
        ),
        rows,
    )
