"""Unbounded FIFOs: as FIFOs that are never full, however much they come to hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from seeds import some_slow
from tile_drawing import TileProgram, runs

import stepgen as sg
from stepgen.fuzz.generators.loops import Turns, loop
from stepgen.fuzz.generators.plain import draw
from stepgen.program.tiles import simulate
from stepgen.timing.deadlock import Deadlock
from stepgen.timing.tiles import program
from stepgen.timing.tiles.machines import SDA, SDA_PUBLISHED, Machine
from stepgen.timing.tiles.report import Run

NEVER_FULL = 1 << 12
"""More than any FIFO of the programs here comes to hold."""


def seen(run: Run) -> Any:
    """What depends on time."""
    return run.cycles, run.memory_peak, run.choices, list(run.operators.values())


@pytest.mark.parametrize("machine", [SDA, SDA_PUBLISHED], ids=lambda m: m.name)
@pytest.mark.parametrize("size", [1, 3, program.FIRST_SIZE])
@pytest.mark.parametrize("seed", some_slow(range(12), 4))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_drawn_programs_run_as_with_fifos_that_are_never_full(
    seed: int, size: int, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "FIRST_SIZE", size)
    with np.errstate(all="ignore"):
        drawn, _, _ = draw(seed, 4, TileProgram, runs)
    deep, unbounded = (
        simulate(drawn.graph, drawn.inputs, replace(machine, fifo_depth=depth))
        for depth in (NEVER_FULL, "unbounded")
    )
    assert seen(deep) == seen(unbounded)


def slow(count: int, depth: int | None = None) -> tuple[sg.Graph, dict[str, Any]]:
    """Tiles come faster than they are worked on."""
    g = sg.Graph("slow")
    x = g.input("x", sg.f32[1, 64], (count,))
    g.output((x.fifo(depth) if depth else x).map(sg.fn.silu(), name="slow"), "y")
    return g, {"x": np.ones((count, 1, 64), np.float32)}


def test_a_fifo_grows_beyond_its_first_size() -> None:
    count = 5 * program.FIRST_SIZE
    few = replace(SDA, compute=replace(SDA.compute, flops=64))
    graph, inputs = slow(count)
    shallow = simulate(graph, inputs, few)
    deep = simulate(graph, inputs, replace(few, fifo_depth=NEVER_FULL))
    unbounded = simulate(graph, inputs, replace(few, fifo_depth="unbounded"))
    assert seen(unbounded) == seen(deep)
    assert unbounded.memory_peak > shallow.memory_peak
    named = simulate(graph, inputs, few, depths={"x.0": "unbounded"})
    assert named.memory_peak > shallow.memory_peak


def test_a_depth_that_the_program_asks_for_is_a_least_one() -> None:
    unbounded = replace(SDA, fifo_depth="unbounded")
    least, none = (simulate(*slow(99, depth), unbounded) for depth in (2, None))
    assert seen(least) == seen(none)
    # A depth given for the run is the depth.
    two = simulate(*slow(99), unbounded, depths={"x.0": 2})
    assert two.memory_peak < none.memory_peak


@pytest.mark.parametrize("machine", [SDA, replace(SDA, fifo_depth="unbounded")])
def test_no_depth_frees_what_waits_for_itself(machine: Machine) -> None:
    empty = Turns(chunks=[[0]], entering=[[0, 1]], leaving=[[1, 0]])
    with pytest.raises(Deadlock, match="no FIFO depth frees it"):
        simulate(*loop(empty), machine)


@pytest.mark.parametrize("depth", [0, "deep", None])
def test_other_depths_are_refused(depth: Any) -> None:
    with pytest.raises(sg.StepError, match="fifo_depth must be at least 1, not"):
        replace(SDA, fifo_depth=depth)
