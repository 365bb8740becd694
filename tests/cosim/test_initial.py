"""No result depends on the initial contents of registers and memories."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from programs import ROWS, every_unit

from stepgen.cosim.experiment import Experiment, simulate
from stepgen.emit.elaborate import verilog
from stepgen.hw.units import load_all
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.stalls import MEMORY_CHANNELS, Stalls


@cache
def experiments(seed: int) -> list[Experiment]:
    rng = np.random.default_rng(seed)
    made = []
    for stall_seed in (seed, seed + 100):
        inputs = {
            "x": rng.integers(-128, 128, (ROWS, 1, 8)).astype(np.int8),
            "w": rng.integers(-128, 128, (8, 8)).astype(np.int8),
            "sel": np.eye(2, dtype=bool)[rng.integers(2, size=ROWS)],
            "places": rng.integers(0, 4, (3, 1, 1)),
            "at": rng.integers(0, 2, (3, 1, 1)),
            "spans": rng.integers(1, 4, (3, 1, 2)),
            "table": rng.integers(-128, 128, (4, 5)).astype(np.int8),
        }
        stalls = Stalls(
            stall_seed, dict.fromkeys(("x", "sel", "pairs", "chunks", *MEMORY_CHANNELS), 0.4)
        )
        made.append(Experiment(every_unit(), inputs, memory=MemoryTiming(5), stalls=stalls))
    return made


def test_the_program_has_every_unit() -> None:
    assert {u.kind for u in experiments(0)[0].design.units} == set(load_all())


def test_the_variant_has_no_initial_values() -> None:
    design = experiments(0)[0].design
    sets = re.compile(r"^ *initial\b|^ *reg .*= *\d+'", re.MULTILINE)
    assert sets.search(verilog(design))
    assert not sets.search(verilog(design, initial=False))


@pytest.mark.parametrize("seed", range(4))
def test_drawn_contents_change_nothing(seed: int, tmp_path: Path) -> None:
    for verdict in simulate(experiments(seed), tmp_path, driver="cpp"):
        assert verdict.good, verdict.outcome.faults
