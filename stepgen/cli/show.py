"""``stepgen show``: the graph of a program, or its design table."""

from __future__ import annotations

import click

from stepgen.cli.groups import grouped
from stepgen.cli.options import HardwareOptions, ProgramOptions, json_option


@grouped
@click.option("--design", is_flag=True, help="Show units and channels of the circuit.")
@json_option
def command(
    program: ProgramOptions, hardware: HardwareOptions, *, design: bool, json: bool
) -> None:
    """Print a program's operators with their types, or the circuit's units and channels."""
    loaded = program.load(draw=False)
    program.tell_outdated(loaded)
    if design:
        table = hardware.experiment(loaded).design
        if json:
            print(table.to_json())
            return
        from stepgen.report import console

        console.show(*console.design_tables(table))
    elif json:
        from stepgen.ir.text import dumps

        print(dumps(loaded.graph))
    else:
        print(loaded.graph)
