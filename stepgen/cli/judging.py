"""Predictions of runs that cannot be: the reference says what is wrong with them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from stepgen.ir.errors import StepError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from stepgen.cli.options import ProgramOptions
    from stepgen.cosim.experiment import Experiment


@contextmanager
def judged(program: ProgramOptions) -> Iterator[None]:
    """Instead of a deadlock, raise what the reference says of the same inputs, if it objects."""
    from stepgen.timing.deadlock import Deadlock

    try:
        yield
    except Deadlock:
        judge(program)
        raise


def judge_words(program: ProgramOptions, experiment: Experiment, symbolic: int | None) -> None:
    """Run the reference where the model moved less than the formula says.

    Words of the bus have more bytes than a formula, never fewer, but where addresses decide.

    Parameters
    ----------
    program : ProgramOptions
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
        judge(program, experiment.prediction.choices)


def judge(program: ProgramOptions, choices: Mapping[str, Sequence[int]] | None = None) -> None:
    """Run the reference, which checks what a prediction takes on trust.

    Parameters
    ----------
    program : ProgramOptions
    choices : mapping of str to sequence of int, optional
        Those of the merges in order of arrival.

    Raises
    ------
    StepError
        What is wrong with the run. Nothing if the contents of tensors can't be had.
    """
    from stepgen.semantics import system

    try:
        loaded = program.load()
    except StepError:
        return
    system.run(loaded.graph, loaded.inputs, choices=choices)
