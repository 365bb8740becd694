"""(o4) The model that talks, its characters chosen by the host or by the circuit."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from typing import Any

from benchmarks.table import Table
from benchmarks.talking import MODEL
from benchmarks.talking_board import BOARD, BUS_BITS, HZ, LANES
from stepgen.board.description import named
from stepgen.cosim.experiment import Experiment
from stepgen.frontend import files
from stepgen.frontend.decoding import Decoder
from stepgen.hw.design.bus import Bus
from stepgen.hw.design.counting import counting
from stepgen.synth.estimate import estimate

TOKENS = 24
PER_RUN = (1, 6, 24)


def measure() -> Table:
    """Estimate both circuits, and let a simulated board write the same text with them."""
    rows, texts = [], set()
    for per_run in PER_RUN:
        made = _talked(per_run)
        texts.add(made["text"])
        tokens, used = sum(made["tokens"]), _used(writes=per_run > 1)
        cycles, moved = sum(made["cycles"]) / tokens, sum(made["moved"]) / tokens
        link = named(BOARD).link.baud / 10 / moved
        rows.append(
            (
                per_run if per_run > 1 else "1, by the host",
                *(f"{used[part]:,}" for part in ("lut", "ff", "multiplier")),
                len(made["cycles"]),
                f"{cycles:,.0f}",
                f"{moved:,.0f}",
                f"{HZ / cycles:,.0f}",
                f"{link:,.0f}",
            )
        )
    assert len(texts) == 1, "the host and the circuit choose the same characters"
    return Table(
        "o4. The model that talks without a host",
        f"{TOKENS} characters behind the prompt of `stepgen talk`, on a simulated {BOARD}, chosen "
        "by the host or by the circuit (--per-run): the same text, every run as predicted. "
        f"LUTs, registers and multipliers of an ECP5 with {LANES} lanes and a bus of {BUS_BITS} "
        "bits, estimated without synthesis, without counters; runs, and of each token cycles and "
        f"bytes on the link; how many tokens a second the circuit makes at {HZ // 10**6} MHz, and "
        f"how many the link moves at most at {named(BOARD).link.baud:,} baud, without the pauses "
        "between messages, of which each run has some.",
        (
            *("characters a run", "LUT", "FF", "multipliers", "runs", "cycles", "bytes"),
            *("tokens / s of the circuit", "tokens / s of the link"),
        ),
        rows,
    )


def _talked(per_run: int) -> dict[str, Any]:
    words = ["talk", "--tokens", str(TOKENS), "--per-run", str(per_run), "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "stepgen", *words], check=True, capture_output=True, text=True
    )
    made: dict[str, Any] = json.loads(done.stdout)
    assert made["cycles"] == made["predicted"]
    return made


def _used(*, writes: bool) -> dict[str, int]:
    model = files.load(MODEL)
    made = Decoder(model, cache=model.tokens[1], lanes=LANES, writes=writes)
    design = Experiment(made.graph, {}, lanes=LANES, bus=Bus(BUS_BITS)).design
    return estimate(dataclasses.replace(design, counters=counting(False))).total
