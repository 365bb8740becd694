"""(k) Cycles against on-chip memory: static tiles, dynamic ones, and dynamic ones with a cap."""

from __future__ import annotations

from collections.abc import Collection

from stepgen.compile.cost import on_chip_bits
from stepgen.compile.lower import lower
from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.table import Bus

from .programs import moe
from .table import Table

LANES = 4
ROWS = (2, 4, 8, 12, 16, 24, 32)
REFERENCES = "references"
SCHEDULES = tuple(
    (tiling, rows, routed)
    for routed in ("rows", REFERENCES)
    for tiling, sizes in (("static", ROWS), ("capped", ROWS), ("dynamic", (64,)))
    for rows in sizes
)
WIDTHS = (32, 64)
SAME = 1.01
"""Memory that counts as the same: designs of tiles of as many rows differ by their padding."""

Schedule = tuple[str, int, str]


def measure() -> Table:
    """The model's cycles, which the RTL's equal, and the bits of the design table."""
    cycles: dict[tuple[int, Schedule], int] = {}
    bits: dict[Schedule, int] = {}
    for one in SCHEDULES:
        tiling, tile, routed = one
        graph, inputs = moe(
            tiling=tiling, tile=min(tile, max(ROWS)), references=str(routed == REFERENCES).lower()
        )
        bits[one] = on_chip_bits(lower(graph, lanes=LANES))
        for width in WIDTHS:
            experiment = Experiment(graph, inputs, lanes=LANES, bus=Bus(data_bits=width))
            cycles[width, one] = experiment.prediction.cycles

    def gain(width: int, one: Schedule, among: Collection[str]) -> str:
        """Cycles of the best static tiles that fit into the same memory, by those of this one."""
        fit = [
            cycles[width, other]
            for other in bits
            if other[0] == "static" and other[2] in among and bits[other] <= SAME * bits[one]
        ]
        return f"{min(fit) / cycles[width, one]:.2f}" if fit else ""

    def cells(width: int, one: Schedule) -> tuple[str, ...]:
        both = ("rows", REFERENCES)
        return f"{cycles[width, one]:,}", gain(width, one, ("rows",)), gain(width, one, both)

    rows = [
        (
            one[0],
            "any" if one[0] == "dynamic" else one[1],
            one[2],
            f"{bits[one]:,}",
            *(text for width in WIDTHS for text in cells(width, one)),
        )
        for one in SCHEDULES
    ]
    return Table(
        "k. Cycles against on-chip memory",
        "The demo: MoE layer, 64 tokens, top 2 of 8 experts of 64 x 256 weights, 4 lanes, memory "
        "latency 16, default routing. Static tiles are padded; capped ones have at most so many "
        "rows; a dynamic one has all rows of an expert. Either rows are routed, and wait for each "
        "of their experts, or references to rows that are stored once. On-chip bits are those of "
        "all FIFOs and memories for a bus of 64 bits. The gain is the cycles of the best static "
        "tiles of routed rows that take no more memory (1 % more at most), divided by the cycles; "
        "the second one compares with static tiles of referenced rows as well. With a cap of 16 "
        "rows and references, 42 % of the bits are two tiles of weights for each expert, 41 % the "
        "columns of results that become rows again, 11 % the tiles of rows that are read once per "
        "column of weights, and 3 % the rows that are stored for all.",
        (
            *("tiles", "rows", "routed", "on-chip bits"),
            *(
                head
                for n in WIDTHS
                for head in (f"cycles, {n} bits", f"gain, {n} bits", f"second gain, {n} bits")
            ),
        ),
        rows,
    )
