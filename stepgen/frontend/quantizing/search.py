"""Search for places: one after the other a step up or down, as long as that helps."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stepgen.frontend.quantizing.calibration import Calibration
from stepgen.frontend.quantizing.making import Plan
from stepgen.ir.errors import StepError

SWEEPS = 3
"""Passes over all choices, at most."""

LEAST_GAIN = 1e-3
"""Part of the distance that a pass must gain for another one."""


def search(
    plan: Plan, calibration: Calibration, progress: Callable[[float], None]
) -> Iterator[float]:
    """Choose the places of a plan; give the distance before, and after each pass."""
    plan.made()
    best = calibration.distance(plan.made())
    yield best
    for sweep in range(SWEEPS):
        before = best
        keys = [key for key in plan.choices if key in plan.short]
        for number, key in enumerate(keys):
            progress((sweep + number / len(keys)) / SWEEPS)
            for step in (1, -1):
                moved = False
                while (found := _distance(plan, calibration, key, step)) < best:
                    best, moved = found, True
                    plan.choices[key] += step
                if moved:
                    break
        yield best
        if before - best < LEAST_GAIN * before:
            return


def _distance(plan: Plan, calibration: Calibration, key: str, step: int) -> float:
    """The distance with one choice a step further."""
    plan.choices[key] += step
    try:
        return calibration.distance(plan.made())
    except StepError:  # a shift that no function has
        return float("inf")
    finally:
        plan.choices[key] -= step
