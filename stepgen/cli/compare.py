"""``stepgen compare``: two designs side by side."""

from __future__ import annotations

import click

from stepgen.cli.config import show_json
from stepgen.cli.groups import grouped
from stepgen.cli.options import HardwareOptions, ProgramOptions, RunOptions, json_option
from stepgen.cli.outputs import NAME
from stepgen.cli.ran import AgainstOptions, luts_option, ran


@grouped
@click.argument("against", type=NAME)
@luts_option
@json_option
def command(
    program: ProgramOptions,
    other: AgainstOptions,
    hardware: HardwareOptions,
    when: RunOptions,
    *,
    against: str,
    luts: bool,
    json: bool,
) -> int:
    """Compare two designs: units, FIFOs, predicted cycles, bits and LUTs.

    Options of circuit, memory and stalls hold for both.
    """
    from stepgen.report import console
    from stepgen.report.comparison import comparison, tables
    from stepgen.tools import waiting

    with waiting.progress(quiet=json) as progress:
        sides = [program, other.of(program, against)]
        first, second = ran(sides, hardware, when, luts=luts, progress=progress, json=json)
    compared = comparison(first, second, other.names(program, against))
    if json:
        show_json(compared | {"outdated": first.outdated or second.outdated})
    else:
        for side in (first, second):
            if side.problem:
                console.warn(side.problem)
        console.show(*tables(compared))
    return 2 if first.stopped or second.stopped else 0
