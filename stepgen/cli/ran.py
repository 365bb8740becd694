"""A predicted run with all that is reported of it, also where it does not end."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from stepgen.cli.groups import option
from stepgen.cli.options import HardwareOptions, ProgramOptions, RunOptions
from stepgen.commands.infeasible import judge, judge_words

if TYPE_CHECKING:
    from stepgen.report.ran import Ran

MOST_ESTIMATED = 1000
"""Units of a design whose LUTs are estimated: those of more take minutes to be counted."""


luts_option = click.option(
    "--luts/--no-luts",
    default=True,
    help="Estimate LUTs, which takes most of the time for a design that is new.",
)


@dataclasses.dataclass(frozen=True)
class AgainstOptions:
    """Settings of the second design."""

    against_settings: Sequence[str] = option(
        "A parameter of AGAINST; where it is the same program, those of --set hold, too; "
        "repeatable.",
        "--against-set",
        pairs=True,
        metavar="NAME=VALUE",
    )

    def of(self, program: ProgramOptions, against: str) -> ProgramOptions:
        """The second program, with its settings."""
        from stepgen.program.settings import pairs

        settings = pairs(self.against_settings, "--against-set")
        if against == program.program:
            settings = pairs(program.settings, "--set") | settings
        texts = tuple(f"{name}={value}" for name, value in settings.items())
        return dataclasses.replace(program, program=against, settings=texts)

    def names(self, program: ProgramOptions, against: str) -> tuple[str, str]:
        """What both are called: where it is one program, with the parameters that differ."""
        if against != program.program:
            return program.program, against
        others = {text.partition("=")[0] for text in self.against_settings}
        own = [text for text in program.settings if text.partition("=")[0] in others]
        return " ".join((against, *own)), " ".join((against, *self.against_settings))


def ran(
    programs: Sequence[ProgramOptions],
    hardware: HardwareOptions,
    when: RunOptions,
    *,
    luts: bool,
    progress: Callable[[str, float], None],
    json: bool,
) -> list[Ran]:
    """Load programs, predict their runs, and estimate what their circuits take.

    All are loaded before the first is predicted: what can't be loaded is refused at once.

    Parameters
    ----------
    programs : sequence of ProgramOptions
    hardware, when
        Options of the command.
    luts : bool
        Whether to estimate what the circuits take.
    progress : callable
        Called with the current step.
    json : bool
        Whether warnings are left out.
    """
    progress("loading", 0.0)
    loaded = [_loaded(program, hardware, when, json=json) for program in programs]
    return [
        _measured(one, program, luts=luts, progress=progress)
        for one, program in zip(loaded, programs, strict=True)
    ]


def _loaded(
    program: ProgramOptions, hardware: HardwareOptions, when: RunOptions, *, json: bool
) -> Ran:
    """A run of which only the circuit is known."""
    from stepgen.report.ran import Ran

    loaded = program.load()
    outdated = program.warn_outdated(loaded, json=json)
    experiment = when.timing().experiment(loaded, hardware.circuit(), seed=program.seed)
    return Ran(loaded, experiment, problem=experiment.unpredicted, outdated=outdated)


def _measured(
    found: Ran, program: ProgramOptions, *, luts: bool, progress: Callable[[str, float], None]
) -> Ran:
    """With its prediction, and with what its circuit takes."""
    from stepgen.ir.errors import StepError
    from stepgen.synth.estimate import estimate

    if not found.problem:
        progress("predicting", 0.1)
        found = _timed(found, program)
    if not luts:
        return found
    design = found.experiment.design
    with suppress(StepError):  # a unit of one's own may have no circuit yet
        if len(design.units) <= MOST_ESTIMATED:
            return dataclasses.replace(found, takes=estimate(design, progress=progress))
    return found


def _timed(found: Ran, program: ProgramOptions) -> Ran:
    """With its prediction, as far as it comes.

    Where the reference says that there can't be such a run, its sentence is all there is.
    """
    from stepgen.report.summary import symbolic_traffic
    from stepgen.timing.deadlock import Deadlock
    from stepgen.timing.model import Fault

    experiment = found.experiment
    try:
        prediction = experiment.prediction
    except Deadlock as error:
        if cause := _objection(lambda: judge(program)):
            return dataclasses.replace(found, problem=cause, stopped=True)
        return dataclasses.replace(
            found, prediction=error.stopped, problem=str(error), deadlock=error, stopped=True
        )
    except Fault as error:
        return dataclasses.replace(
            found, prediction=error.stopped, problem=str(error), stopped=True
        )
    symbolic = symbolic_traffic(found.program, experiment)
    if cause := _objection(lambda: judge_words(program, experiment, symbolic)):
        return dataclasses.replace(found, problem=cause, stopped=True)
    return dataclasses.replace(found, prediction=prediction)


def _objection(judging: Callable[[], None]) -> str:
    from stepgen.ir.errors import StepError

    try:
        judging()
    except StepError as cause:
        return str(cause)
    return ""
