"""(o) The model that talks: what its circuit takes, and a character's cycles beside their bound."""

from __future__ import annotations

import dataclasses

from benchmarks.table import Table
from stepgen.cosim.experiment import Experiment
from stepgen.frontend import files
from stepgen.frontend.decoding import Decoder
from stepgen.frontend.sharing import Sharing
from stepgen.frontend.text import ids_of
from stepgen.hw.design.bus import Bus
from stepgen.hw.design.counting import counting
from stepgen.synth.estimate import estimate
from stepgen.tools.shipped import shipped

MODEL = str(shipped("examples") / "talk" / "talk.stepgen")

TEXT = "The module is"
"""Its last character is measured, behind the others."""

CIRCUITS: list[tuple[int, int, Sharing]] = [
    (lanes, bits, array)
    for lanes, bits in ((4, 64), (4, 32), (2, 32))
    for array in ("own", "shared")
]
"""Lanes, bits of a word of the bus, and whether the linears of a layer share a unit."""


def measure() -> Table:
    """Estimates and exact cycles; no circuit is made."""
    model = files.load(MODEL)
    *before, last = ids_of(model, TEXT)
    lines = []
    for lanes, bits, array in CIRCUITS:
        made = Decoder(model, cache=model.tokens[1], lanes=lanes, array=array)
        for token in before:
            made.run({"ids": [token]})
        one = Experiment(made.graph, made.inputs({"ids": [last]}), lanes=lanes, bus=Bus(bits))
        words = sum(one.traffic) // one.bus.bytes
        cycles = one.prediction.cycles
        bare = dataclasses.replace(one.design, counters=counting(False))
        used = estimate(bare).total
        lines.append(
            (
                *(lanes, bits, array),
                *(f"{used[part]:,}" for part in ("lut", "ff", "multiplier")),
                *(f"{words:,}", f"{cycles:,}", f"{cycles / words:.3f}"),
            )
        )
    return Table(
        "o. The model that talks",
        f"The character behind {TEXT[:-1]!r} of `examples/talk`, with caches of "
        f"{model.tokens[1]} tokens. LUTs, registers and multipliers of an ECP5, estimated without "
        "synthesis, without counters; words that move over the bus, the least cycles of any "
        "circuit that reads them, and exact cycles on a memory with a latency of 16. Linears of a "
        "layer share one array with --set array=shared.",
        (
            *("lanes", "bus bits", "array", "LUT", "FF", "multipliers"),
            *("words", "cycles", "cycles / words"),
        ),
        lines,
    )
