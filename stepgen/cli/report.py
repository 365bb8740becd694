"""``stepgen report``: a run as one page of HTML."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click
from click.core import ParameterSource

from stepgen.cli.groups import check_unused, grouped
from stepgen.cli.options import HardwareOptions, ProgramOptions, RunOptions, json_option
from stepgen.cli.outputs import NAME, Output
from stepgen.cli.ran import AgainstOptions, luts_option, ran

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
@click.option(
    "--against",
    type=NAME,
    metavar="PROGRAM",
    help="Another program or design folder, to be compared with; options of circuit, memory and "
    "stalls hold for both.",
)
@luts_option
@json_option
def command(
    program: ProgramOptions,
    other: AgainstOptions,
    hardware: HardwareOptions,
    when: RunOptions,
    *,
    output: Path,
    against: str | None,
    luts: bool,
    json: bool,
) -> int:
    """Write a page: the graph, a timeline to the cycle, where the cycles go, resources.

    It is one file that needs no network. Of a run that deadlocks it marks the channels that wait
    for each other.
    """
    from stepgen.report import console
    from stepgen.report.comparison import comparison
    from stepgen.report.page import page
    from stepgen.tools import waiting
    from stepgen.tools.atomic import atomic_file

    if against is None:
        check_unused("is for another program: add --against", other)
    with waiting.progress(quiet=json) as progress:
        one = partial(ran, luts=luts, progress=progress, json=json)
        run = one(program, hardware, when)
        compared = None
        if against is not None:
            second = ran(
                other.of(program, against), hardware, when, luts=luts, progress=progress, json=json
            )
            compared = comparison(run, second, other.names(program, against))
        progress("writing the page", 0.9)
        text = page(run, _settings(), compared=compared)
    with atomic_file(output) as place:
        place.write_text(text, encoding="utf-8")
    if json:
        cycles = run.prediction.cycles if run.prediction else None
        said = {"cycles": cycles, "problem": run.problem, "files": {"report": output}}
        console.show_json(said if compared is None else said | {"compared": compared})
    else:
        if run.problem:
            console.warn(run.problem)
        console.show(f"written to {output}")
    return 2 if run.stopped else 0


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
