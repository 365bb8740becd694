"""Predictions of infeasible runs: the reference explains what is wrong with them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from stepgen.ir.errors import StepError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from stepgen.commands.source import Source
    from stepgen.cosim.experiment import Experiment


@contextmanager
def judged(source: Source) -> Iterator[None]:
    """Instead of a deadlock, raise what the reference says of the same inputs, if it objects."""
    from stepgen.timing.deadlock import Deadlock

    try:
        yield
    except Deadlock:
        judge(source)
        raise


def judge_words(source: Source, experiment: Experiment, symbolic: int | None) -> None:
    """Run the reference where the model moved less than the formula says.

    Words of the bus have more bytes than a formula, never fewer, but where addresses decide.

    Parameters
    ----------
    source : Source
    experiment : Experiment
    symbolic : int or None
        Bytes by formula.

    Raises
    ------
    StepError
        As `judge`.
    """
    from stepgen.compile.cost import traffic_varies

    if not traffic_varies(experiment.design) and sum(experiment.traffic) < (symbolic or 0):
        judge(source, experiment.prediction.choices)


def judge(source: Source, choices: Mapping[str, Sequence[int]] | None = None) -> None:
    """Run the reference, which checks what a prediction takes on trust.

    Parameters
    ----------
    source : Source
    choices : mapping of str to sequence of int, optional
        Those of the merges in order of arrival.

    Raises
    ------
    StepError
        What is wrong with the run. Nothing if the contents of tensors can't be had.
    """
    from stepgen.semantics import system

    try:
        loaded = source.load()
    except StepError:
        return
    system.run(loaded.graph, loaded.inputs, choices=choices)
