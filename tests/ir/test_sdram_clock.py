"""The phase of an SDRAM's clock."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from stepgen.board.description import boards
from stepgen.ir.errors import StepError
from stepgen.ir.sdram_clock import sdram_clock


def kept(hz: float, steps: int, step: int, late: int, way: dict[str, Any]) -> bool:
    """By following edges: what is stable when."""
    period = 1e9 / hz
    chip = period * step / steps
    least, most = way["round_trip"]
    # Pins change around 0 and around `period`; data of this edge of the chip and of the next one.
    commands = way["setup"] <= chip <= period - way["hold"]
    return commands and chip + most <= (1 + late) * period <= chip + period + least


def test_the_phase_leaves_time() -> None:
    """For drawn clocks and times; where none is found, none is there."""
    rng, found = np.random.default_rng(1), 0
    for _ in range(500):
        hz, steps = float(rng.uniform(10e6, 170e6)), int(rng.choice([2, 5, 8, 16]))
        least = float(rng.uniform(0, 8))
        way = {
            "setup": float(rng.uniform(0.5, 4)),
            "hold": float(rng.uniform(0.5, 4)),
            "round_trip": [least, least + float(rng.uniform(0, 8))],
        }
        possible = [
            (step, late)
            for step in range(1, steps)
            for late in range(3)
            if kept(hz, steps, step, late, way)
        ]
        if possible:
            made = sdram_clock(hz, steps, way)
            assert (made.step, made.late) in possible
            found += 1
        else:
            with pytest.raises(StepError, match="MHz no phase of the SDRAM's clock, of"):
                sdram_clock(hz, steps, way)
    assert 100 < found < 450


def test_clocks_of_all_boards() -> None:
    made = [(b, b.sdram_clock) for b in boards().values()]
    assert sum(clock is not None for _, clock in made) > 3
    for board, clock in made:
        if clock is not None:
            assert board.memory.way is not None
            way = asdict(board.memory.way)
            assert kept(float(board.pll.hz), clock.steps, clock.step, clock.late, way)
            assert board.sdram is not None
            assert board.sdram.late == clock.late
