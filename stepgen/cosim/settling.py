"""Selectors and addresses that data decide: the reference gives them to the cycle model."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from ..ir.errors import StepError
from ..ir.wire import Beats
from ..semantics import system

if TYPE_CHECKING:
    from .experiment import Experiment

TRIES = 16


def settled(experiment: Experiment) -> dict[str, Beats]:
    """Beats of the inputs, and by unit the selectors or addresses that it makes of data.

    The reference provides these, and the cycle model the orders of arrival for the reference, until
    both agree.

    Raises
    ------
    StepError
        If they do not settle.
    """
    design = experiment.design
    deciding = [unit for unit in design.units if unit.params.decides]
    if not deciding:
        return experiment.beats
    streams = {unit.name: f"{unit.origin}.0" for unit in deciding}
    choices: dict[str, list[int]] = {}
    for _ in range(TRIES):
        result = system.run(
            experiment.graph, experiment.inputs, lanes=experiment.lanes, choices=choices
        )
        decided = {unit: result.beats(name, experiment.lanes) for unit, name in streams.items()}
        known = {**experiment.beats, **decided}
        if not experiment.arrivals:
            return known
        again = dataclasses.replace(experiment, built=design)
        again.__dict__["known"] = known
        found = {name: again.prediction.choices.get(name, []) for name in experiment.arrivals}
        if found == choices:
            return known
        choices = found
    raise StepError(
        f"the design {design.name} does not settle: data change the order of arrival, which "
        f"changes the data, {TRIES} times in a row"
    )
