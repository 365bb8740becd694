"""``stepgen machine``: parameters of a machine, and bandwidth of its off-chip memory."""

from __future__ import annotations

import click

from stepgen.cli.groups import grouped
from stepgen.cli.options import json_option
from stepgen.cli.outputs import NAME


@grouped
@click.argument(
    "name",
    required=False,
    type=NAME,
    help="A machine, or FILE.json that describes one; by default all are listed.",
)
@json_option
def command(*, name: str | None, json: bool) -> None:
    """Show a machine's parameters, and measure its off-chip bandwidth on streams of tiles."""
    from stepgen.report import console, machines
    from stepgen.timing.tiles.machines import MACHINES
    from stepgen.timing.tiles.variants import find
    from stepgen.tools import waiting

    if name is None:
        if json:
            console.show_json({"machines": list(MACHINES)})
        else:
            console.show(machines.summary())
        return
    machine = find(name)
    with waiting.progress(quiet=json) as progress:
        progress("measuring", 0.0)
        data = machines.document(machine)
    if json:
        console.show_json(data)
    else:
        console.show(*machines.tables(data))
