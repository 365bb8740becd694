"""``stepgen report``: a run as one page of HTML."""

from __future__ import annotations

from pathlib import Path

import click

from stepgen.cli.config import show_json
from stepgen.cli.groups import check_unused, given_options, grouped
from stepgen.cli.options import HardwareOptions, ProgramOptions, RunOptions, json_option
from stepgen.cli.outputs import NAME, Output
from stepgen.cli.ran import AgainstOptions, luts_option, ran


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
        sides = [program] if against is None else [program, other.of(program, against)]
        runs = ran(sides, hardware, when, luts=luts, progress=progress, json=json)
        run, compared = runs[0], None
        if against is not None:
            compared = comparison(run, runs[1], other.names(program, against))
        progress("writing the page", 0.9)
        text = page(run, given_options(), compared=compared)
    with atomic_file(output) as place:
        place.write_text(text, encoding="utf-8")
    if json:
        cycles = run.prediction.cycles if run.prediction else None
        said = {"cycles": cycles, "problem": run.problem, "files": {"report": output}}
        said |= {"outdated": run.outdated}
        show_json(said if compared is None else said | {"compared": compared})
    else:
        if run.problem:
            console.warn(run.problem)
        console.show(f"written to {output}")
    return 2 if run.stopped else 0
