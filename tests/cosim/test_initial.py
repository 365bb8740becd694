"""No result depends on the initial contents of registers and memories."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from programs import every_unit, every_unit_inputs
from seeds import some_slow

import stepgen as sg
from stepgen.cosim.experiment import Experiment, simulate
from stepgen.emit.elaborate import verilog
from stepgen.hw.design.sharing import SHARED
from stepgen.hw.units import load_all
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.stalls import MEMORY_CHANNELS, Stalls


@cache
def experiments(seed: int) -> list[Experiment]:
    rng = np.random.default_rng(seed)
    made = []
    for stall_seed in (seed, seed + 100):
        ports = ("all_x", "all_sel", "all_pairs", "again_y", *MEMORY_CHANNELS)
        stalls = Stalls(stall_seed, dict.fromkeys(ports, 0.4))
        named = {f"all_{name}": value for name, value in every_unit_inputs(rng).items()}
        made.append(
            Experiment(system(), named, memory=MemoryTiming(5), stalls=stalls, loaders=SHARED)
        )
    return made


def system() -> sg.System:
    """Every unit: links to fewer lanes and to more join designs."""
    more = sg.Graph("more")
    more.output(more.input("x", sg.int8[1, 8], ("N",)), "y")
    parts = {"all": every_unit(), "more": more, "again": more}
    links = {"all_highest": "more_x", "more_y": "again_x"}
    return sg.System(parts, links, lanes={"more": 2, "again": 8})


def test_the_program_has_every_unit() -> None:
    assert {u.kind for u in experiments(0)[0].design.units} == set(load_all())


@pytest.mark.slow
def test_the_variant_has_no_initial_values() -> None:
    design = experiments(0)[0].design
    sets = re.compile(r"^ *initial\b|^ *reg .*= *\d+'", re.MULTILINE)
    assert sets.search(verilog(design))
    assert not sets.search(verilog(design, initial=False))


@pytest.mark.parametrize("seed", some_slow(range(4), 0))
def test_drawn_contents_change_nothing(seed: int, tmp_path: Path) -> None:
    for verdict in simulate(experiments(seed), tmp_path, driver="cpp"):
        assert verdict.good, verdict.outcome.faults
