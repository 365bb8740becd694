"""``stepgen simulate``: timing simulation of a program on a described machine."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from stepgen.cli.options import (
    Json,
    MaxCycles,
    Perfetto,
    ProgramOptions,
    Timeline,
    depths_of,
    limit_of,
)

if TYPE_CHECKING:
    from stepgen.timing.tiles.machines import Machine

_PANEL = "The machine"


@dataclass(frozen=True)
class MachineOptions:
    """The machine that the program runs on."""

    machine: Annotated[
        str,
        typer.Option(
            "--machine",
            metavar="NAME",
            help="A machine that stepgen machine lists, or FILE.json that describes one.",
            rich_help_panel=_PANEL,
        ),
    ] = "sda"
    changes: Annotated[
        list[str],
        typer.Option(
            "--change",
            metavar="FIELD=VALUE",
            help="Change a field of the machine, such as memory.channels=16; repeatable.",
            rich_help_panel=_PANEL,
        ),
    ] = field(default_factory=list)
    depths: Annotated[
        list[str],
        typer.Option(
            "--depth",
            metavar="STREAM=N",
            help="Elements that the FIFO of a stream holds, or unbounded; repeatable.",
            rich_help_panel=_PANEL,
        ),
    ] = field(default_factory=list)

    def find(self) -> Machine:
        """The machine with its changes, which its name includes."""
        from stepgen.program.settings import pairs
        from stepgen.timing.tiles import variants

        texts = pairs(self.changes, "--change")
        machine = variants.changed(variants.find(self.machine), variants.parsed(texts))
        if not texts:
            return machine
        return dataclasses.replace(machine, name=f"{machine.name} with {', '.join(self.changes)}")


def command(
    program: ProgramOptions,
    on: MachineOptions,
    *,
    transforms: Annotated[
        list[str],
        typer.Option(
            "--transform",
            metavar="NAME[:OPTION=VALUE,...]",
            help="Transform the program first, as in time_multiplex:regions=8; repeatable.",
        ),
    ] = [],  # noqa: B006  typer reads it, nobody changes it
    top: Annotated[
        int | None,
        typer.Option("--top", metavar="N", min=1, help="Show the N busiest operators."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show every operator.")] = False,
    max_cycles: MaxCycles = None,
    timeline: Timeline = None,
    perfetto: Perfetto = None,
    json: Json = False,
) -> None:
    """Simulate timing and resource use on a described machine; tiles carry no data."""
    from stepgen.program.schedule import transformed
    from stepgen.program.tiles import simulate
    from stepgen.report import console, simulated
    from stepgen.report import timeline as pictures
    from stepgen.timing.tiles.depths import UNBOUNDED
    from stepgen.tools import waiting
    from stepgen.tools.atomic import atomic_file

    machine, depths = on.find(), depths_of(on.depths, "elements", UNBOUNDED)
    limit = limit_of(max_cycles)
    with waiting.progress(quiet=json) as progress:
        progress("building the program", 0.0)
        loaded = transformed(program.load(tensors=False), transforms)
        progress("simulating", 0.3)
        run = simulate(loaded.graph, loaded.inputs, machine, depths=depths, limit=limit)
        progress("simulating (done)", 0.9)
        data = simulated.document(loaded, run)
    if timeline is not None or perfetto is not None:
        rows = pictures.MOST_ROWS if top is None else top
        seen = pictures.of_run(
            f"{loaded.graph.name} on {machine.name}",
            run,
            loaded.graph,
            every=every,
            most=pictures.FULL_PAGE if every else rows,
        )
        if timeline is not None:
            with atomic_file(timeline) as place:
                pictures.draw(place, [seen])
        if perfetto is not None:
            with atomic_file(perfetto) as place:
                pictures.perfetto(place, seen)
    files = {"timeline": timeline, "perfetto": perfetto}
    if json:
        console.show_json({**data, "files": files})
        return
    console.show(*simulated.parts(data, top=top, every=every))
    for path in filter(None, files.values()):
        console.show(f"written to {path}")
