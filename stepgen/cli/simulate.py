"""``stepgen simulate``: timing simulation of a program on a described machine."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from stepgen.cli.groups import check_unused, grouped, option
from stepgen.cli.judging import judged
from stepgen.cli.options import (
    LimitOptions,
    PictureOptions,
    ProgramOptions,
    depths_of,
    json_option,
)
from stepgen.cli.outputs import NAME

if TYPE_CHECKING:
    from stepgen.timing.tiles.machines import Machine

_machine = functools.partial(option, section="The machine")


@dataclass(frozen=True)
class MachineOptions:
    """The machine that the program runs on."""

    machine: str = _machine(
        "A machine that stepgen machine lists, or FILE.json that describes one.",
        default="sda",
        type=NAME,
        metavar="NAME",
    )
    changes: Sequence[str] = _machine(
        "Change a field of the machine, such as memory.channels=16; repeatable.",
        "--change",
        multiple=True,
        metavar="FIELD=VALUE",
    )
    depths: Sequence[str] = _machine(
        "Elements that the FIFO of a stream holds, or unbounded; repeatable.",
        "--depth",
        multiple=True,
        metavar="STREAM=N",
    )

    def find(self) -> Machine:
        """The machine with its changes, which its name includes."""
        from stepgen.program.settings import pairs
        from stepgen.timing.tiles import variants

        texts = pairs(self.changes, "--change")
        machine = variants.changed(variants.find(self.machine), variants.parsed(texts))
        if not texts:
            return machine
        return dataclasses.replace(machine, name=f"{machine.name} with {', '.join(self.changes)}")


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
    from stepgen.program.tiles import simulate, simulate_with_data
    from stepgen.report import console, simulated, timeline
    from stepgen.timing.tiles import known
    from stepgen.timing.tiles.depths import UNBOUNDED
    from stepgen.tools import waiting

    if every:
        check_unused("shows some operators and --all every one: leave one of them out", "top")
    machine, depths = on.find(), depths_of(on.depths, "elements", UNBOUNDED)
    cycles = limit.cycles
    with waiting.progress(quiet=json) as progress, judged(program):
        progress("building the program", 0.0)
        loaded = program.load(tensors=False)
        numbers_decide = bool(known.decided(loaded.graph))
        if numbers_decide:
            loaded = program.load()
        outdated = program.tell_outdated(loaded, json=json)
        progress("simulating", 0.3)
        asked = (loaded.graph, loaded.inputs, machine)
        if numbers_decide:
            run, _ = simulate_with_data(*asked, depths=depths, limit=cycles)
        else:
            run = simulate(*asked, depths=depths, limit=cycles)
        progress("simulating (done)", 0.9)
        data = simulated.document(loaded, run)
    rows = timeline.MOST_ROWS if top is None else top
    seen = functools.partial(
        timeline.of_run,
        f"{loaded.graph.name} on {machine.name}",
        run,
        loaded.graph,
        every=every,
        most=timeline.FULL_PAGE if every else rows,
    )
    files = pictures.write(seen, seen)
    if json:
        console.show_json({**data, "files": files, "outdated": outdated})
        return
    console.show(*simulated.parts(data, top=top, every=every))
    for path in filter(None, files.values()):
        console.show(f"written to {path}")
