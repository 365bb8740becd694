"""``stepgen simulate``: timing simulation of a program on a described machine."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from stepgen.cli.config import show_json
from stepgen.cli.groups import check_unused, grouped, option
from stepgen.cli.options import (
    LimitOptions,
    PictureOptions,
    ProgramOptions,
    depths_of,
    json_option,
)
from stepgen.cli.outputs import NAME
from stepgen.commands.infeasible import judged
from stepgen.commands.options import MACHINE

if TYPE_CHECKING:
    from stepgen.commands.simulate import On

_machine = functools.partial(option, section="The machine")


@dataclass(frozen=True)
class MachineOptions:
    """The machine that the program runs on."""

    machine: str = _machine(
        "A machine that stepgen machine lists, or FILE.json that describes one.",
        default=MACHINE,
        type=NAME,
        metavar="NAME",
    )
    changes: Sequence[str] = _machine(
        "Change a field of the machine, such as memory.channels=16; repeatable.",
        "--change",
        pairs=True,
        metavar="FIELD=VALUE",
    )
    depths: Sequence[str] = _machine(
        "Elements that the FIFO of a stream holds, or unbounded; repeatable.",
        "--depth",
        pairs=True,
        metavar="STREAM=N",
    )

    def by_value(self) -> On:
        """The machine by value."""
        from stepgen.commands.simulate import On
        from stepgen.program.settings import pairs
        from stepgen.timing.tiles.depths import UNBOUNDED

        changes = pairs(self.changes, "--change")
        depths = depths_of(self.depths, "elements", UNBOUNDED)
        return On(machine=self.machine, change=changes, depth=depths)


@grouped
@click.option("--top", type=click.IntRange(1), metavar="N", help="Show the N busiest operators.")
@click.option("--all", "every", is_flag=True, help="Show every operator.")
@json_option
def command(
    program: ProgramOptions,
    on: MachineOptions,
    limit: LimitOptions,
    pictures: PictureOptions,
    *,
    top: int | None,
    every: bool,
    json: bool,
) -> None:
    """Simulate timing and resource use on a described machine; tiles carry no data."""
    from stepgen.commands.simulate import loaded_for, simulated
    from stepgen.report import console, timeline
    from stepgen.report.simulated import parts
    from stepgen.tools import waiting

    if every:
        check_unused("shows some operators and --all every one: leave one of them out", "top")
    asked = on.by_value()
    machine, cycles = asked.find(), limit.cycles
    with waiting.progress(quiet=json) as progress, judged(program):
        progress("building the program", 0.0)
        loaded = loaded_for(program)
        outdated = program.warn_outdated(loaded, json=json)
        result = simulated(loaded, machine, asked.depth, cycles, progress)
        progress("simulating (done)", 0.9)
        data = result.document()
    rows = timeline.MOST_ROWS if top is None else top
    seen = functools.partial(
        timeline.of_run,
        f"{loaded.graph.name} on {machine.name}",
        result.run,
        loaded.graph,
        every=every,
        most=timeline.FULL_PAGE if every else rows,
    )
    files = pictures.write(seen, seen)
    if json:
        show_json({**data, "files": files, "outdated": outdated})
        return
    console.show(*parts(data, top=top, every=every))
    for path in filter(None, files.values()):
        console.show(f"written to {path}")
