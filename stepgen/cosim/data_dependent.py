"""Selectors and addresses that data decide: the reference gives them to the cycle model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepgen.ir.errors import StepError
from stepgen.ir.wire import Beats
from stepgen.semantics import system

if TYPE_CHECKING:
    from stepgen.cosim.experiment import Experiment

TRIES = 16


def settled(experiment: Experiment) -> dict[str, Beats]:
    """Beats of the inputs, and by unit the selectors or addresses that it makes of data.

    The reference provides these, and the cycle model the orders of arrival for the reference, until
    both agree. Before that neither says anything about the run: units of the model may get data of
    others, stop with an error, and wait for what never comes.

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
            experiment.graph,
            experiment.inputs,
            lanes=experiment.lanes,
            choices=choices,
            guesses=True,
        )
        decided = {
            unit: result.beats(name, design.lanes_at(unit)) for unit, name in streams.items()
        }
        known = {**experiment.beats, **decided}
        if not experiment.arrivals:
            return known
        found = experiment.model.order_of_arrival(
            experiment.run_of(known), limit=experiment.max_cycles
        )
        if found == choices:
            return known
        choices = found
    raise StepError(
        f"the design {design.name} does not settle: data change the order of arrival, which "
        f"changes the data, {TRIES} times in a row"
    )
