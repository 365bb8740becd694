"""An actor that says that it acts, but does nothing, ends no run: it is reported after a while."""

from __future__ import annotations

import pytest

import stepgen as sg
from stepgen.timing import drive
from stepgen.timing.drive import TooLong
from stepgen.timing.endless import CYCLES
from stepgen.timing.kernel import Memory, acted, held_back, packed, record, step
from stepgen.timing.layout import Layout

P = record("count")


@step
def idle(M: Memory, a: int, t: int) -> int:
    return acted(M, t)


@step
def counting(M: Memory, a: int, t: int) -> int:
    M[a + P.count] += 1
    return acted(M, t)


@step
def stalled(M: Memory, a: int, t: int) -> int:
    return held_back(M, t)


@step
def long_work(M: Memory, a: int, t: int) -> int:
    """Takes a known time, as units of the timing on tiles do."""
    return acted(M, t) + 50 * CYCLES


def layout(step: drive.k.Step) -> Layout:
    made = Layout("design layer")
    made.waits_are_events = True
    made.horizon = 64 * CYCLES if step is long_work else 16
    made.actor("map_0", "flow", step, packed(P, count=0), reads=[], writes=[], finishes=True)
    return made


def test_the_actor_is_named() -> None:
    message = (
        r"^design layer: the actor flow of map_0 has acted in every cycle from [\d,]+ to [\d,]+, "
        r"but no beat has moved and no state has changed: its step may return acted\(M, t\) only"
    )
    with pytest.raises(sg.StepError, match=message) as found:
        drive.drive(layout(idle), limit=20 * CYCLES)
    assert not isinstance(found.value, TooLong)


@pytest.mark.parametrize("step", [counting, stalled, long_work])
def test_what_changes_or_waits_runs_on(step: drive.k.Step) -> None:
    with pytest.raises(TooLong):
        drive.drive(layout(step), limit=20 * CYCLES)
