"""``stepgen machine``: parameters of a machine, and bandwidth of its off-chip memory."""

from __future__ import annotations

from typing import Annotated

import typer

from stepgen.cli.options import Json


def command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A machine, or FILE.json that describes one; by default all are listed.",
            show_default=False,
        ),
    ] = None,
    *,
    json: Json = False,
) -> None:
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
