"""(l) Bitstreams of the README's program for every board that open tools build for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from stepgen.board.build import Bitstream, build
from stepgen.board.description import boards
from stepgen.board.fitting import available
from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.table import Bus, Design
from stepgen.ir.wire import LANES
from stepgen.synth.toolchain import RESOURCES

from .table import Table

README = Path(__file__).parents[1] / "README.md"

SMALL: dict[str, dict[str, int]] = {"ice40": {"rows": 8, "width": 16, "hidden": 8}}
CIRCUIT: dict[str, dict[str, Any]] = {"ice40": {"lanes": 1, "bus": Bus(32, burst=4)}}
"""Where parts of a family are too small for the program as it is: its settings, and the circuit."""


def measure() -> Table:
    """Synthesize, place and route for all boards, and pack."""
    rows = []
    for name, board in boards().items():
        if board.vivado:
            continue
        print(f"  {name}", flush=True)
        made = build(gated(board.chip.family), board)
        there = available(board.chip)
        used = [f"{made.placed.used[w]:,} of {there[w]:,}" for w in RESOURCES]
        clock = f"{board.hz / 1e6:g} / {made.placed.hz / 1e6:.0f}"
        rows.append((name, *used, clock, limit(made), f"{made.seconds / 60:.1f}"))
    return Table(
        "l. Bitstreams",
        f"The README's `gated` with {LANES} lanes on every board that open tools build for, with "
        "link, memory and stream buffers: what it takes of the part, the clock that is asked for "
        "and the fastest one in MHz, where the slowest path is, and minutes from the design to the "
        "bitstream. On iCE40 with one lane, a bus of 32 bits, and a smaller layer.",
        ("board", "LUT", "FF", "multipliers", "block RAM", "MHz", "slowest path", "minutes"),
        rows,
    )


def gated(family: str = "") -> Design:
    """The design of the README's first program, as large as parts of a family are."""
    (text,) = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.M | re.S)[:1]
    space: dict[str, object] = {}
    exec(compile(text, str(README), "exec"), space)
    graph, _ = space["gated"](**SMALL.get(family, {}))  # type: ignore[operator]
    return Experiment(graph, {}, **CIRCUIT.get(family, {})).design


def limit(made: Bitstream) -> str:
    """Where the slowest path is."""
    return f"{made.placed.path.start} to {made.placed.path.end}"
