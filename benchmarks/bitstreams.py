"""(l) Bitstreams: of the README's program for all boards of open tools, of MoE layers for some."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import stepgen as sg
from benchmarks.programs import moe
from benchmarks.table import Table
from stepgen.board.build import Bitstream, build
from stepgen.board.description import Board, boards
from stepgen.board.fitting import available
from stepgen.compile.lower import lower
from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.table import Bus, Design
from stepgen.ir.wire import LANES
from stepgen.synth.toolchain import RESOURCES

README = Path(__file__).parents[1] / "README.md"

SMALL: dict[str, dict[str, Any]] = {"ice40": {"lanes": 1, "bus": Bus(32, burst=4)}}
"""The circuit of `dense` for families whose parts are too small for the README's program."""


LAYERS: dict[str, dict[str, int]] = {
    "ulx3s-85f-sdram": {},
    "colorlight-i9": {"experts": 4, "hidden": 128},
    "tang-nano-20k-sdram": {"experts": 2, "tokens": 32},
}
"""MoE layers by board: their parameters where they are not the demo's."""

COLUMNS = ("LUT", "FF", "multipliers", "block RAM", "MHz", "slowest path", "minutes")
MEANING = (
    "what it takes of the part, the clock that is asked for and the fastest one in MHz, where the "
    "slowest path is, and minutes from the design to the bitstream"
)


def measure() -> list[Table]:
    """Synthesize, place and route, and pack."""
    open_boards = {name: board for name, board in boards().items() if not board.vivado}
    small = [(name, *row(board, layer(board.chip.family))) for name, board in open_boards.items()]
    known = boards()
    large = []
    for name, sizes in LAYERS.items():
        design = lower(moe(results="columns", **sizes)[0], lanes=LANES, loaders="shared")
        what = ", ".join(f"{of} {value}" for of, value in sizes.items()) or "the demo's"
        large.append((name, what, *row(known[name], design, counters="none")))
    return [
        Table(
            "l1. Bitstreams of the README's program",
            f"`gated` with {LANES} lanes on every board that open tools build for, with link, "
            f"memory and stream buffers: {MEANING}. On iCE40 a layer without a gate, with one lane "
            "and a bus of 32 bits.",
            ("board", *COLUMNS),
            small,
        ),
        Table(
            "l2. Bitstreams of MoE layers",
            f"The demo's layer with {LANES} lanes and smaller ones, with results by columns, "
            f"`--loaders shared --counters none`: {MEANING}.",
            ("board", "layer", *COLUMNS),
            large,
        ),
    ]


def row(board: Board, design: Design, *, counters: str | None = None) -> tuple[str, ...]:
    """What a design takes on a board."""
    print(f"  {design.name} on {board.key}", flush=True)
    made, there = build(board.counted(design, counters), board), available(board.chip)
    used = [f"{made.placed.used[w]:,} of {there[w]:,}" for w in RESOURCES]
    clock = f"{board.hz / 1e6:g} / {made.placed.hz / 1e6:.0f}"
    return (*used, clock, limit(made), f"{made.seconds / 60:.1f}")


def layer(family: str) -> Design:
    """The design of the README's first program, or of a smaller one where parts are too small."""
    if family in SMALL:
        return Experiment(dense(), {}, **SMALL[family]).design
    return gated()


def dense(rows: int = 4, width: int = 16, hidden: int = 8) -> sg.Graph:
    """Rows times a matrix from off-chip memory."""
    g = sg.Graph("dense")
    x = g.input("x", sg.int8[rows, width], (1,))
    w = g.tensor("w", (width, hidden), sg.int8)
    weights = sg.linear_offchip_load(w, tile=(width, hidden), shape=(1,), stride=(1,))
    g.output(x.map(sg.fn.matmul(), weights).map(sg.fn.requantize(shift=6)), "y")
    return g


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
