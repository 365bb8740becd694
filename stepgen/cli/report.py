"""``stepgen report``: a run as one page of HTML."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click
from click.core import ParameterSource

from stepgen.cli.groups import grouped
from stepgen.cli.judging import judge
from stepgen.cli.options import HardwareOptions, ProgramOptions, RunOptions, json_option
from stepgen.cli.outputs import Output

MOST_ESTIMATED = 1000
"""Units of a design whose LUTs are estimated: those of more take minutes to be counted."""

LEFT_OUT = ("output", "json", "help")
"""Options that change nothing in the page."""


@grouped
@click.option(
    "-o",
    "--out",
    "output",
    type=Output(".html"),
    default="report.html",
    metavar="FILE.html",
    help="The page.",
)
@json_option
def command(
    program: ProgramOptions,
    hardware: HardwareOptions,
    when: RunOptions,
    *,
    output: Path,
    json: bool,
) -> int:
    """Write a page: the graph, a timeline to the cycle, where the cycles go, resources.

    It is one file that needs no network. Of a run that deadlocks it marks the channels that wait
    for each other.
    """
    from stepgen.ir.errors import StepError
    from stepgen.report import console
    from stepgen.report.page import page
    from stepgen.synth.estimate import estimate
    from stepgen.timing.deadlock import Deadlock
    from stepgen.timing.model import Fault
    from stepgen.tools import waiting
    from stepgen.tools.atomic import atomic_file

    loaded = program.load()
    program.tell_outdated(loaded, json=json)
    experiment = when.experiment(loaded, hardware, seed=program.seed)
    prediction, deadlock, problem = None, None, experiment.unpredicted
    with waiting.progress(quiet=json) as progress:
        if not problem:
            progress("predicting", 0.0)
            try:
                prediction = experiment.prediction
            except Deadlock as error:
                judge(program)
                deadlock, problem = error, str(error)
                prediction = error.stopped() if error.stopped else None
            except Fault as error:
                prediction, problem = error.stopped, str(error)
        progress("estimating resources", 0.5)
        takes = None
        with suppress(StepError):  # a unit of one's own may have no circuit yet
            if len(experiment.design.units) <= MOST_ESTIMATED:
                takes = estimate(experiment.design)
        progress("writing the page", 0.9)
        text = page(
            loaded,
            experiment,
            _settings(),
            prediction=prediction,
            takes=takes,
            problem=problem,
            deadlock=deadlock,
        )
    with atomic_file(output) as place:
        place.write_text(text, encoding="utf-8")
    stopped = bool(problem) and not experiment.unpredicted
    if json:
        cycles = prediction.cycles if prediction else None
        console.show_json({"cycles": cycles, "problem": problem, "files": {"report": output}})
    else:
        if problem:
            console.warn(problem)
        console.show(f"written to {output}")
    return 2 if stopped else 0


def _settings() -> dict[str, tuple[str, bool]]:
    """All options of the command: their values, and whether they were given."""
    context, found = click.get_current_context(), {}
    for parameter in context.command.params:
        name = str(parameter.name)
        value = context.params.get(name)
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if name not in LEFT_OUT:
            text = " ".join(map(str, value)) if isinstance(value, tuple) else str(value or "")
            found[name if parameter.param_type_name == "argument" else parameter.opts[-1]] = (
                text,
                given,
            )
    return found
