"""(d3) Circuits of stepgen beside others of the same function.

Two are written by hand. The others come from tools that are not installed with stepgen; where one
is missing its rows are left out, with a sentence:

- da4ml: ``pip install da4ml==0.6.0``, in this environment or in another one, whose Python
  ``DA4ML_PYTHON`` names.
- Calyx: ``cargo install calyx --version 0.7.1``, on PATH. The generator of its systolic arrays is
  in its repository alone: ``CALYX_SOURCES`` names a clone of that version.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import stepgen as sg
from benchmarks.others.hand_written import Expert, Matrix
from benchmarks.others.systolic_array import systolic_array
from benchmarks.others.tools import MissingTool, printed, synthesized
from benchmarks.resources import SEEDS
from benchmarks.table import Table
from stepgen.compile.lower import lower
from stepgen.hw.accelerator import Accelerator
from stepgen.ir.graph import Graph
from stepgen.synth.out_of_context import Resources, netlist, place

SPEED = 6
TILE, ROWS, TILES, SHIFT = 64, 64, 4, 7
"""Rows and columns of a tile of weights; of an expert the most rows, the tiles, and the shift."""
ARRAY, CONSTANT = 8, 16
"""Rows and columns of the systolic array, and of the constant matrix."""
SUM_BITS = (8, 32)
"""Of the systolic array."""
CUTOFF = 5
"""Of da4ml: adders in a row between registers."""


@dataclass(frozen=True)
class Made:
    """A circuit, and what made it.

    Parameters
    ----------
    by : str
        As the table calls it.
    products : int
        Of two numbers, in a cycle, at most.
    netlist : callable
        Makes it in a folder; returns it with a sentence on it, or none.
    """

    by: str
    products: int
    netlist: Callable[[Path], tuple[Path, str]]


def measure() -> Table:
    """Synthesize, place and route everything."""
    rows, notes = [], []
    for function, own, others in cases():
        base = None
        for made in (own, *others):
            print(f"  {function}, {made.by}", flush=True)
            with tempfile.TemporaryDirectory(prefix="stepgen_bench_") as folder:
                try:
                    circuit, note = made.netlist(Path(folder))
                except MissingTool as missing:
                    print(f"    left out: {missing}", flush=True)
                    continue
                found = place(circuit, speed=SPEED, seeds=SEEDS)
            base = base or found
            rows.append(_row(function, made, found, base))
            notes += [note] if note else []
    return Table(
        "d3. Beside other circuits",
        "`python -m benchmarks other_circuits`, whose file says how to get the other tools: "
        "circuits of stepgen with the FIFOs at their ports, and others of the same function. "
        f"LFE5U-85F of speed grade {SPEED}, out of context, placed; the clock in MHz is the median "
        "of three placements, at most what multipliers and block RAM stand; that of the paths "
        "alone stands beside it. Products of two numbers are those of a cycle, at most.\n\n"
        "What stepgen pays for: units check stops and shapes, and a run stops with the error; each "
        "port stalls by itself; tiles may be empty and have any number of rows; a run ends, and "
        "the next one needs no reset; each cycle is predicted.\n\n"
        "- By hand, `benchmarks/others/hand_written.py`: stepgen's streams with the same values in "
        "the same order, and stalls. It checks no input, has neither empty tiles nor ends of runs, "
        "and is for one shape.\n"
        f"- Calyx, `gen-systolic.py` of its repository, {ARRAY} x {ARRAY}, and `calyx -b verilog "
        "-p external --synthesis --nested`: an array computes one product at a time, loads no "
        "operand meanwhile, and can't be stalled. Its memories are outside and not counted. Sums "
        "of the generator have as many bits as operands, and wrap; those of 32 bits come from an "
        "element in `benchmarks/others/calyx_array.py`.\n"
        "- da4ml, `benchmarks/others/constant_matrix.py`: the matrix is part of the circuit, "
        "so other weights need another circuit; it has no handshake, and can't be stalled."
        + "".join(f"\n- {note}" for note in notes),
        (
            *("function", "by", "LUT", "FF", "DSP", "RAM", "MHz", "MHz of paths", "products"),
            *("LUT / stepgen's", "MHz of paths / stepgen's"),
        ),
        rows,
    )


def _row(function: str, made: Made, found: Resources, base: Resources) -> tuple[object, ...]:
    paths, of_base = (statistics.median(one.seeds) for one in (found, base))
    return (
        *(function, made.by, found.lut, found.ff, found.dsp, found.block_ram),
        *(f"{found.fmax:.0f}", f"{paths:.0f}", made.products),
        *(f"{found.lut / base.lut:.2f}", f"{paths / of_base:.2f}"),
    )


def cases() -> Iterator[tuple[str, Made, Sequence[Made]]]:
    """Functions, each with stepgen's circuit and others."""
    for lanes in (4, 8):
        yield (
            f"tiles times {TILE} x {TILE}, L = {lanes}",
            _own(matrix(TILE, TILE), lanes),
            [_component("hand", lanes, partial(Matrix, lanes, TILE, TILE))],
        )
    yield (
        f"expert, {TILE} x {TILES * TILE}, at most {ROWS} rows, L = 4",
        _own(expert(TILE, TILE, rows=ROWS, tiles=TILES, shift=SHIFT, count=1), 4),
        [_component("hand", 4, partial(Expert, 4, TILE, TILE, ROWS, TILES, SHIFT))],
    )
    yield (
        f"tiles times {ARRAY} x {ARRAY}, L = {ARRAY}",
        _own(matrix(ARRAY, ARRAY), ARRAY),
        [
            Made(
                f"Calyx, sums of {bits} bits",
                ARRAY**2,
                partial(systolic_array, size=ARRAY, sum_bits=bits),
            )
            for bits in SUM_BITS
        ],
    )
    yield (
        f"rows times {CONSTANT} x {CONSTANT}, L = 8",
        _own(matrix(CONSTANT, CONSTANT), 8),
        [Made("da4ml", CONSTANT**2, constant_matrix)],
    )


def matrix(k: int, n: int) -> Graph:
    """Tiles of x, [any, k], times tiles of w, [k, n]."""
    g = sg.Graph("matrix")
    x = g.input("x", sg.Tile(sg.ragged("M", bound=1024, positive=True), k, sg.int8), ("N",))
    w = g.input("w", sg.int8[k, n], ("N",))
    g.output(x.map(sg.fn.matmul(), w), "y")
    return g


def expert(k: int, n: int, *, rows: int, tiles: int, shift: int, count: int | str = "N") -> Graph:
    """Tiles of at most so many rows, each times the tiles of a weight, requantized."""
    g = sg.Graph("expert")
    tile = sg.Tile(sg.ragged("M", bound=rows, positive=True), k, sg.int8)
    x = g.input("x", tile, (count,))
    w = g.input("w", sg.int8[k, n], (count, tiles))
    repeated = x.promote(0).expand(count=tiles)
    g.output(repeated.map(sg.fn.matmul(), w).map(sg.fn.requantize(shift=shift)), "y")
    return g


def _own(graph: Graph, lanes: int) -> Made:
    return _component("stepgen", lanes, lambda: Accelerator(lower(graph, lanes=lanes)))


def _component(by: str, lanes: int, circuit: Callable[[], Any]) -> Made:
    return Made(by, lanes**2, lambda folder: (netlist(circuit(), "circuit", folder), ""))


def constant_matrix(folder: Path) -> tuple[Path, str]:
    """The netlist of a row times a constant matrix, made by da4ml.

    Raises
    ------
    MissingTool
        If it is not installed.
    """
    python = os.environ.get("DA4ML_PYTHON", sys.executable)
    asked = [python, "-c", "import da4ml; print(da4ml.__version__)"]
    if shutil.which(python) is None or subprocess.run(asked, capture_output=True).returncode:
        raise MissingTool(
            "da4ml needs `pip install da4ml==0.6.0`, here or in the environment whose Python "
            "DA4ML_PYTHON names"
        )
    script = Path(__file__).parent / "others" / "constant_matrix.py"
    printed([python, script, folder, CONSTANT, CUTOFF], folder)
    files = sorted((folder / "src").rglob("*.v"))
    # The wrapper is a second top, a table of constants reads files that are not there.
    sources = [f.relative_to(folder) for f in files if not f.stem.endswith(("wrapper", "table"))]
    made = synthesized(folder, "constant_matrix", list(map(str, sources)))
    cycles = json.loads((folder / "metadata.json").read_text())["latency"]
    version = printed(asked, folder).strip()
    return made, f"da4ml {version}, `latency_cutoff={CUTOFF}`: {cycles} cycles from row to result."
