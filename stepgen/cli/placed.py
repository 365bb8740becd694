"""The page of ``stepgen synth`` and ``stepgen build`` about what a board was filled with."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stepgen.cli.outputs import Output

if TYPE_CHECKING:
    from stepgen.hw.design.table import Design
    from stepgen.program.program import Program

report_option = click.option(
    "--report",
    type=Output(".html"),
    metavar="FILE.html",
    help="Write a page: resources by unit beside the estimate, the graph, the clock.",
)


def write_page(
    path: Path, loaded: Program, design: Design, data: Mapping[str, Any], *, quiet: bool
) -> None:
    """Write the page.

    Parameters
    ----------
    path : Path
    loaded : Program
    design : Design
        What it became.
    data : mapping
        What `stepgen.board.summary.document` says of it.
    quiet : bool
        Whether no progress is shown.
    """
    from stepgen.cli.groups import given_options
    from stepgen.cli.ran import MOST_ESTIMATED
    from stepgen.ir.errors import StepError
    from stepgen.report.placed import placed_page
    from stepgen.synth.estimate import estimate
    from stepgen.tools import waiting
    from stepgen.tools.atomic import atomic_file

    takes = None
    with suppress(StepError):  # a unit of one's own may have no estimate
        if len(design.units) <= MOST_ESTIMATED:
            with waiting.progress(quiet=quiet) as progress:
                takes = estimate(design, progress=progress)
    text = placed_page(design, loaded.graph, data, takes, given_options())
    with atomic_file(path) as place:
        place.write_text(text, encoding="utf-8")
