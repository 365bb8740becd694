"""No program with bounds deadlocks, and the deadlock of a design is explained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from seeds import others_slow, some_slow

from stepgen.fuzz.case import Case
from stepgen.fuzz.compare import AMPLE, compare, contradicts, one_less, stuck, with_all
from stepgen.fuzz.generators import meeting, waiting
from stepgen.fuzz.generators.reconvergent import WIDTHS, Bounded, drawn
from stepgen.ir.errors import StepError
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.stalls import Stalls
from stepgen.timing.deadlock import Deadlock, Waiting
from stepgen.timing.drive import MAX_CYCLES

PROGRAMS, DRAWS = 24, 3
MEETING = 8

Kind = Callable[[int, int], Bounded]


def case_of(program: Bounded) -> Case:
    """A drawn program as a case."""
    return Case(program.graph, program.inputs, lanes=program.lanes, bus=program.bus)


def stopped(case: Case, depth: int | None = None) -> Deadlock | None:
    """How a run with derived depths stops, or with one depth for all FIFOs.

    No depths that would free it are searched for, which takes many runs.
    """
    depths = {} if depth is None else with_all(case.experiment().design, depth)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stepgen.timing.deadlock._smallest_depths", lambda *_: {})
        return stuck(case, depths, MAX_CYCLES)


def disturbed(case: Case, seed: int) -> Case:
    """The case with drawn stalls and a drawn memory."""
    rng = np.random.default_rng(seed)
    ports = [*case.graph.inputs, *case.graph.outputs]
    stalls = Stalls(seed, {name: float(rng.choice([0, 0, 0.3, 0.7])) for name in ports})
    return replace(case, stalls=stalls, memory=MemoryTiming(int(rng.integers(1, 60))))


def outcomes(seed: int, draws: int, kind: Kind = drawn) -> Counter[str]:
    """Runs of a drawn program that end, that deadlock, and that would at any depth."""
    program = kind(seed, 1 + seed % 4)
    found: Counter[str] = Counter()
    for n in range(draws):
        try:
            program.redraw(draws * seed + n)
        except StepError:  # inputs that would be too large
            continue
        case = disturbed(case_of(program), n)
        if stopped(case) is None:
            found["ends"] += 1
        elif stopped(case, AMPLE) is None:
            found["deadlocks"] += 1
        else:
            found["wrong data"] += 1
    return found


@pytest.mark.parametrize("seed", some_slow(range(PROGRAMS), 20))
def test_bounds_are_enough(seed):
    assert outcomes(seed, DRAWS)["deadlocks"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("first", some_slow(range(1000, 2000, 50), 10))
def test_bounds_are_enough_in_many_programs(first):
    found = sum((outcomes(seed, 6) for seed in range(first, first + 50)), Counter())
    assert found["deadlocks"] == 0
    assert found["wrong data"] < found["ends"] / 20


@pytest.mark.parametrize("seeds", some_slow([range(MEETING), range(2000, 2400)], 1))
def test_streams_without_a_common_source_meet(seeds):
    found = sum((outcomes(seed, 2, meeting.drawn) for seed in seeds), Counter())
    assert found["deadlocks"] == 0
    assert found["ends"] == 2 * len(seeds)


def test_streams_that_meet_would_deadlock():
    shallow = 0
    for seed in range(MEETING):
        case = case_of(meeting.drawn(seed, 4))
        shallow += bool(stopped(case, 2)) and stopped(case) is None
    assert shallow > MEETING / 4


@cache
def shallow_case(seed: int) -> tuple[Case, Deadlock | None]:
    """A drawn program, and how it stops with FIFOs of two beats."""
    case = case_of(drawn(seed, 1 + seed % 4))
    return case, stopped(case, 2)


def test_what_is_drawn_would_deadlock():
    """With FIFOs of two beats, which is what a channel has that nothing is derived for."""
    shallow, lanes = 0, set()
    for seed in range(PROGRAMS):
        case, deadlock = shallow_case(seed)
        if deadlock and stopped(case) is None:
            shallow += 1
            lanes.add(case.lanes)
    assert shallow > PROGRAMS / 8
    assert lanes == set(WIDTHS)


@pytest.mark.parametrize("seeds", some_slow([range(PROGRAMS), range(PROGRAMS, 3 * PROGRAMS)], 1))
def test_an_explanation_does_not_contradict_itself(seeds):
    waits = 0
    for seed in seeds:
        _, deadlock = shallow_case(seed)
        if deadlock is None:
            continue
        waits += len(deadlock.waiting)
        assert not contradicts(deadlock), str(deadlock)
    assert waits > len(seeds) / 2
    assert contradicts(deadlock_of(("a", True, 2, 2), ("a", False, 0, 2))) == "a"
    assert contradicts(deadlock_of(("b", False, 0, 2), ("c", True, 2, 2))) == ""


def deadlock_of(*waiting: tuple[str, bool, int, int]) -> Deadlock:
    return Deadlock("", 1, [Waiting("unit", *one) for one in waiting])


@pytest.mark.parametrize("seeds", some_slow([range(1), range(1, 16)], 1))
@pytest.mark.parametrize("kind", others_slow(waiting.KINDS, ("group", "merged")))
def test_references_that_wait_for_what_they_cause_are_explained_and_freed(
    kind: str, seeds: range
) -> None:
    """By the advised depths, of which none can be less; a loop that nothing enters by none."""
    found: Counter[str] = Counter()
    for seed in seeds:
        lanes = (1, 2, 4)[seed % 3]
        case = Case(*waiting.drawn(seed, lanes, kind), lanes=lanes)
        design = case.experiment().design
        case = replace(case, depths=with_all(design, 2))
        deadlock = stuck(case, case.depths)
        if deadlock is None:  # the pipeline of a unit was room enough
            found["free"] += 1
            continue
        assert deadlock.waiting
        assert not contradicts(deadlock), str(deadlock)
        if not deadlock.remedy:
            assert str(deadlock).endswith("no FIFO depth frees it")
            assert stuck(case, with_all(design, AMPLE))
            found["no depth"] += 1
            continue
        advised = {**case.depths, **deadlock.remedy}
        assert stuck(case, advised) is None
        for depths in one_less(deadlock, case.experiment().design):
            assert stuck(case, {**advised, **depths}), str(deadlock)
            found["one less"] += 1
        found["freed"] += 1
        assert stopped(replace(case, depths={})) is None
        assert compare(case, rtl=False).says == "a deadlock that its advice frees"
    if kind == "itself":
        assert found == {"no depth": len(seeds)}
    else:
        assert found["free"] <= len(seeds) / 8
        assert found["freed"] + found["free"] == len(seeds)
        assert found["one less"] >= found["freed"]
