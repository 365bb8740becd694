"""(o3) The bitstream of the model that talks: an hour of place and route."""

from __future__ import annotations

from benchmarks.bitstreams import COLUMNS, MEANING, row
from benchmarks.table import Table
from benchmarks.talking import MODEL, TEXT
from stepgen.board.description import named
from stepgen.cosim.experiment import Experiment
from stepgen.frontend import files
from stepgen.frontend.decoding import Decoder
from stepgen.frontend.text import ids_of
from stepgen.hw.design.bus import Bus

BOARD, HZ = "ulx3s-85f-sdram", 70_000_000
LANES, BUS_BITS = 2, 32


def measure() -> Table:
    """Build, and predict a character on the board's SDRAM at that clock."""
    model = files.load(MODEL)
    *before, last = ids_of(model, TEXT)
    made = Decoder(model, cache=model.tokens[1], lanes=LANES)
    for token in before:
        made.run({"ids": [token]})
    board = named(BOARD).at(HZ)
    one = Experiment(made.graph, made.inputs({"ids": [last]}), lanes=LANES, bus=Bus(BUS_BITS))
    design = board.counted(one.design, "none")
    around = board.around(design)
    there = Experiment(
        made.graph,
        one.inputs,
        built=design,
        memory=around.memory,
        sdram=around.sdram,
        early=tuple(made.graph.inputs),
    )
    cycles = there.prediction.cycles
    return Table(
        "o3. The model that talks as a bitstream",
        f"`stepgen build` of `examples/talk` for {BOARD} with --lanes {LANES} "
        f"--bus-bits {BUS_BITS} --counters none --clock {HZ // 10**6}, with link, SDRAM controller "
        "and stream buffers: "
        f"{MEANING}. Cycles of the character behind {TEXT[:-1]!r}, predicted on that SDRAM, and "
        "characters a second of that many cycles at the clock that is asked for.",
        (*COLUMNS, "cycles", "characters / s"),
        [(*row(board, design, counters="none"), f"{cycles:,}", f"{HZ / cycles:,.0f}")],
    )
