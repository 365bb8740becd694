"""Check of users' step functions: they look before they act."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stepgen.ir.errors import StepError
from stepgen.timing import kernel as k
from stepgen.timing.activity import Cycles

if TYPE_CHECKING:
    from stepgen.timing.layout import Actor, Layout
    from stepgen.timing.model import Prediction


def of(layout: Layout) -> list[k.Step]:
    """The step functions in a layout that are users'."""
    return [step for step in layout.steps if not step.__module__.startswith("stepgen.")]


def check(layout: Layout, M: Cycles, prediction: Prediction) -> None:
    """Check the beats that users' actors have moved in a run.

    Parameters
    ----------
    layout : Layout
    M : int64 array
        The state array after the run.
    prediction : Prediction
        Of the run.

    Raises
    ------
    StepError
        If one has taken a beat that was not there, or sent one where there was no room.
    """
    own = of(layout)
    for actor in layout.actors if own else ():
        if layout.steps[M[actor.address + k.STEP_INDEX]] in own:
            for c in actor.reads:
                _check_taken(layout, actor, c, M[c + k.LATENCY], prediction)
            for c in actor.writes:
                _check_sent(layout, actor, c, M[c + k.DEPTH], prediction)


def _check_taken(layout: Layout, actor: Actor, c: int, latency: int, of: Prediction) -> None:
    name = layout.names[c]
    pushed, popped = of.pushes.get(name, ()), of.pops.get(name, ())
    beat = _first(np.asarray(popped), np.asarray(pushed) + latency)
    if beat is not None:
        raise StepError(
            f"{layout.title}: the step of the actor {actor.name} of {actor.unit} takes beat {beat} "
            f"of {name} in cycle {popped[beat]}, when it is not there: it may only if ready(M, x, "
            "t) or can_pass(M, x, y, t) is READY"
        )


def _check_sent(layout: Layout, actor: Actor, c: int, depth: int, of: Prediction) -> None:
    name = layout.names[c]
    pushed, popped = of.pushes.get(name, ()), of.pops.get(name, ())
    beat = _first(np.asarray(pushed)[depth:], np.asarray(popped) + 1)
    if beat is not None:
        beat += int(depth)
        raise StepError(
            f"{layout.title}: the step of the actor {actor.name} of {actor.unit} sends beat {beat} "
            f"into {name} in cycle {pushed[beat]}, where the {depth} slots are taken: it may only "
            "if room(M, y, t) or can_pass(M, x, y, t) is READY"
        )


def _first(cycles: Cycles, earliest: Cycles) -> int | None:
    """The first of these cycles that comes before its earliest one, or has none."""
    both = min(len(cycles), len(earliest))
    early = np.flatnonzero(cycles[:both] < earliest[:both])
    if len(early):
        return int(early[0])
    return both if len(cycles) > both else None
