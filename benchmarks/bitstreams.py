"""(l) Bitstreams of the README's program for every board that open tools build for."""

from __future__ import annotations

import re
from pathlib import Path

from stepgen.board.build import Bitstream, build
from stepgen.board.description import boards
from stepgen.board.fitting import available
from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.table import Design
from stepgen.ir.wire import LANES
from stepgen.synth.toolchain import RESOURCES

from .table import Table

README = Path(__file__).parents[1] / "README.md"


def measure() -> Table:
    """Synthesize, place and route for all boards, and pack."""
    design = gated()
    rows = []
    for name, board in boards().items():
        if board.vivado:
            continue
        print(f"  {name}", flush=True)
        made = build(design, board)
        there = available(board.chip)
        used = [f"{made.placed.used[w]:,} of {there[w]:,}" for w in RESOURCES]
        clock = f"{board.hz / 1e6:g} / {made.placed.hz / 1e6:.0f}"
        rows.append((name, *used, clock, limit(made), f"{made.seconds / 60:.1f}"))
    return Table(
        "l. Bitstreams",
        f"The README's `gated` with {LANES} lanes on every board that open tools build for, with "
        "link, memory and stream buffers: what it takes of the part, the clock that is asked for "
        "and the fastest one in MHz, where the slowest path is, and minutes from the design to the "
        "bitstream.",
        ("board", "LUT", "FF", "multipliers", "block RAM", "MHz", "slowest path", "minutes"),
        rows,
    )


def gated() -> Design:
    """The design of the README's first program."""
    (text,) = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.M | re.S)[:1]
    space: dict[str, object] = {}
    exec(compile(text, str(README), "exec"), space)
    graph, _ = space["gated"]()  # type: ignore[operator]
    return Experiment(graph, {}).design


def limit(made: Bitstream) -> str:
    """Where the slowest path is."""
    return f"{made.placed.path.start} to {made.placed.path.end}"
