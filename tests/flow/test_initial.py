"""Nothing depends on what registers and memories hold before they are written."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import stepgen as sg
from stepgen.flow.elaborate import verilog
from stepgen.flow.experiment import Experiment, simulate
from stepgen.hw import units
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.stalls import MEMORY_CHANNELS, Stalls

ROWS = 6


def every_unit() -> sg.Graph:
    """A program that has all kinds of units."""
    g = sg.Graph("every_unit")
    x = g.input("x", sg.int8[1, 8], (ROWS,))
    sel = g.input("sel", sg.Selector(2), (ROWS,))
    w = g.tensor("w", (8, 8), sg.int8)
    y = g.tensor("y", (ROWS, 16), sg.int8)
    parts = [p.fifo(80) for p in sg.partition(x, sel.fifo(70), rank=0)]
    merged = sg.reassemble(parts, sel.fifo(70), rank=0).flatten(0, 1)
    padded, padding = merged.reshape(chunk=4, pad=-7)
    tile = padded.accum(sg.fn.retile_row(), rank=1)
    weights = sg.linear_offchip_load(w, tile=(8, 8), shape=(1,), stride=(1,), ref=tile)
    product = tile.fifo(80).map(sg.fn.matmul(), weights.flatten(0, 1))
    rows = product.map(sg.fn.requantize(shift=4)).flat_map(
        sg.fn.retile_streamify("row"), rank=0, padding=padding.fifo(70)
    )
    wide = rows.promote(0).expand(count=2).accum(sg.fn.retile_col(), rank=1)
    sg.linear_offchip_store(wide, y)
    g.output(x.promote(0).reshape(dim=1, chunk=2), "pairs")
    g.output(x.reshape(chunk=3, pad=0)[0], "chunks")
    return g


@cache
def experiments(seed: int) -> list[Experiment]:
    rng = np.random.default_rng(seed)
    made = []
    for stall_seed in (seed, seed + 100):
        inputs = {
            "x": rng.integers(-128, 128, (ROWS, 1, 8)).astype(np.int8),
            "w": rng.integers(-128, 128, (8, 8)).astype(np.int8),
            "sel": np.eye(2, dtype=bool)[rng.integers(2, size=ROWS)],
        }
        stalls = Stalls(
            stall_seed, dict.fromkeys(("x", "sel", "pairs", "chunks", *MEMORY_CHANNELS), 0.4)
        )
        made.append(Experiment(every_unit(), inputs, memory=MemoryTiming(5), stalls=stalls))
    return made


def test_the_program_has_every_unit() -> None:
    kinds = {p.stem for p in Path(units.__path__[0]).glob("[a-z]*.py")}
    assert {u.kind for u in experiments(0)[0].design.units} == kinds


def test_the_variant_has_no_initial_values() -> None:
    design = experiments(0)[0].design
    sets = re.compile(r"^ *initial\b|^ *reg .*= *\d+'", re.MULTILINE)
    assert sets.search(verilog(design))
    assert not sets.search(verilog(design, initial=False))


@pytest.mark.parametrize("seed", range(4))
def test_drawn_contents_change_nothing(seed: int, tmp_path: Path) -> None:
    for verdict in simulate(experiments(seed), tmp_path, driver="cpp"):
        assert verdict.good, verdict.outcome.faults
