"""No program with bounds deadlocks, and the deadlock of a design is explained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest

from stepgen.fuzz.meeting import WIDTHS, beats, case, table
from stepgen.hw.design.table import Design
from stepgen.hw.units.sink.params import Sink
from stepgen.hw.units.source.params import Source
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.stalls import Stalls
from stepgen.ir.wire import Beats
from stepgen.timing.deadlock import Deadlock
from stepgen.timing.model import predict

PROGRAMS, DRAWS = 40, 3
AMPLE = 1 << 14
"""Beats of a FIFO that is never full in these runs."""


def stuck(design: Design, inputs: Mapping[str, Beats], seed: int = 0) -> Deadlock | None:
    """The deadlock of a run with drawn stalls and a drawn memory, if there is one."""
    rng = np.random.default_rng(seed)
    ports = [u.name for kind in (Source, Sink) for u in design.of_kind(kind)]
    stalls = Stalls(seed, {name: float(rng.choice([0, 0, 0.3, 0.7])) for name in ports})
    memory = MemoryTiming(int(rng.integers(1, 60)))
    try:
        predict(design, inputs, memory=memory, stalls=stalls)
    except Deadlock as deadlock:
        return deadlock
    return None


def with_all(design: Design, depth: int) -> Design:
    """The design with one depth for all FIFOs of streams."""
    streams = [c for c in design.channels if c.rank is not None]
    return design.with_depths({c.name: max(depth, c.delay + 2) for c in streams})


def outcomes(seed: int, draws: int) -> Counter[str]:
    """Runs of a drawn program that end, that deadlock, and that would at any depth."""
    program = case(seed, 1 + seed % 4)
    design = table(program)
    found: Counter[str] = Counter()
    for n in range(draws):
        program.redraw(draws * seed + n)
        inputs = beats(program)
        if stuck(design, inputs, n) is None:
            found["ends"] += 1
        elif stuck(with_all(design, AMPLE), inputs, n) is None:
            found["deadlocks"] += 1
        else:
            found["wrong data"] += 1
    return found


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_bounds_are_enough(seed):
    assert outcomes(seed, DRAWS)["deadlocks"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 2000, 50))
def test_bounds_are_enough_in_many_programs(first):
    found = sum((outcomes(seed, 6) for seed in range(first, first + 50)), Counter())
    assert found["deadlocks"] == 0
    assert found["wrong data"] < found["ends"] / 20


def test_what_is_drawn_would_deadlock():
    """With FIFOs of two beats, which is what a channel has that nothing is derived for."""
    shallow, lanes = 0, set()
    for seed in range(PROGRAMS):
        program = case(seed, 1 + seed % 4)
        design, inputs = table(program), beats(program)
        if stuck(with_all(design, 2), inputs) is not None and stuck(design, inputs) is None:
            shallow += 1
            lanes.add(program.lanes)
    assert shallow > PROGRAMS / 8
    assert lanes == set(WIDTHS)


def test_an_explanation_does_not_contradict_itself():
    told = 0
    for seed in range(3 * PROGRAMS):
        program = case(seed, 1 + seed % 4)
        deadlock = stuck(with_all(table(program), 2), beats(program))
        if deadlock is None:
            continue
        told += len(deadlock.waiting)
        seen: dict[str, bool] = {}
        for waiting in deadlock.waiting:
            assert seen.setdefault(waiting.channel, waiting.full) == waiting.full, str(deadlock)
            if waiting.state in ("full", "empty"):
                assert waiting.level == (waiting.depth if waiting.full else 0), str(deadlock)
            else:
                assert 0 < waiting.level < waiting.depth, str(deadlock)
    assert told > 50
