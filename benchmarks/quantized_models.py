"""(m3) Small language models of fewer bits: a token's bytes and cycles, and the circuit's parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.table import Table
from examples import models
from stepgen.compile.lower import lower as design_of
from stepgen.cosim.experiment import Experiment
from stepgen.frontend import caches, lower, quantize
from stepgen.frontend.drawing import drawn
from stepgen.frontend.lowering import fed
from stepgen.ir.wire import LANES
from stepgen.synth.estimate import estimate

ROOM, FILLED = 32, 9
"""Tokens that the caches hold, and that are there."""

SCHEMES: dict[str, dict[str, Any]] = {
    "bf16": {},
    "w8": {"scheme": "w8"},
    "w8a8": {"scheme": "w8a8"},
    "w8a8, powers": {"scheme": "w8a8", "scales": "powers"},
}
"""How the models are quantized."""

TEXT = (np.arange(60) * 7 + np.arange(60) ** 2) % 64
"""Ids on which steps are calibrated."""


def measure() -> Table:
    """What a token moves and takes, and what the circuit takes."""
    lines = []
    for name in ("gpt2", "llama"):
        exact = getattr(models, name)()
        for scheme, bits in SCHEMES.items():
            model = quantize(exact, TEXT, **bits) if bits else exact
            graph, known = lower(model, phase="decode", cache=ROOM)
            sizes = caches.sized(model, ROOM, None)
            given = fed(model, drawn(model, {}, tokens=1), sizes, FILLED)
            inputs = {**known, **given, **caches.drawn(graph, sizes, FILLED, seed=0)}
            runs = [Experiment(graph, inputs, lanes=lanes) for lanes in (LANES, 2 * LANES)]
            used = estimate(design_of(graph, lanes=LANES)).total
            cycles = (f"{one.prediction.cycles:,}" for one in runs)
            moved = f"{sum(runs[0].traffic):,}"
            parts = (f"{used[part]:,}" for part in ("lut", "ff", "multiplier"))
            lines.append((name, scheme, moved, *cycles, *parts))
    return Table(
        "m3. A token of small language models with fewer bits",
        f"Of 2 layers, 32 columns and 64 ids, behind {FILLED} others: bytes over the bus, exact "
        f"cycles with {LANES} and {2 * LANES} lanes, and what the circuit with {LANES} lanes, "
        "control and counters takes, estimated without synthesis. w8 are weights of 8 bits with "
        "scales, w8a8 values of 8 bits, too; with powers scales are powers of two. Between linears "
        "all have real numbers.",
        (
            *("model", "scheme", "bytes", f"cycles, {LANES} lanes", f"{2 * LANES} lanes"),
            *("LUT", "FF", "multipliers"),
        ),
        lines,
    )
