"""Interpreted and compiled steps take the same cycles and move the same beats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tile_drawing import TileProgram, runs

import stepgen as sg
from stepgen.fuzz.draw import case
from stepgen.fuzz.generators.plain import draw
from stepgen.program.tiles import simulate
from stepgen.timing.stepping import Engine, using
from stepgen.timing.tiles.machines import SDA, SDA_PUBLISHED

ENGINES: tuple[Engine, ...] = ("interpreted", "compiled")


def ended(run: Any) -> Any:
    """The result of a run, or its error."""
    try:
        return run()
    except sg.StepError as error:
        return str(error)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(80))
def test_predictions(number: int) -> None:
    both = []
    for engine in ENGINES:
        with using(engine):
            both.append(ended(lambda: case(37, number)[0].experiment().prediction))
    first, second = both
    if isinstance(first, str):
        assert first == second
        return
    assert (first.cycles, first.choices) == (second.cycles, second.choices)
    for name, pushes in first.pushes.items():
        np.testing.assert_array_equal(pushes, second.pushes[name])
        np.testing.assert_array_equal(first.pops[name], second.pops[name])
    for one, other in zip(first.activities, second.activities, strict=True):
        assert (one.busy, one.starved, one.full) == (other.busy, other.starved, other.full)


@pytest.mark.slow
@pytest.mark.parametrize("machine", [SDA, SDA_PUBLISHED], ids=lambda machine: machine.name)
@pytest.mark.parametrize("seed", range(80))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_timing_on_tiles(seed: int, machine: Any) -> None:
    program, _, _ = draw(seed, 4, TileProgram, runs)
    both = []
    for engine in ENGINES:
        with using(engine):
            both.append(ended(lambda: simulate(program.graph, program.inputs, machine)))
    first, second = both
    if isinstance(first, str):
        assert first == second
        return
    assert (first.cycles, first.choices) == (second.cycles, second.choices)
    np.testing.assert_array_equal(first.trace.entries, second.trace.entries)
