"""``stepgen time --schedules``: a block of a model under each schedule, side by side."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stepgen.cli.config import show_json
from stepgen.cli.options import HardwareOptions, ProgramOptions, RunOptions
from stepgen.ir.errors import StepError

if TYPE_CHECKING:
    from stepgen.commands.time import TimeResult


@dataclass(frozen=True)
class Schedule:
    """How tokens of experts, or requests of an attention, are divided.

    Attributes
    ----------
    name : str
    settings, transforms : tuple of str
        As of ``--set`` and ``--transform``.
    """

    name: str
    settings: tuple[str, ...] = ()
    transforms: tuple[str, ...] = ()


def schedules(program: ProgramOptions, regions: int) -> Iterator[Schedule]:
    """Those of a block with experts, or with attention.

    Raises
    ------
    StepError
        If the program is given neither a routing nor lengths, or part of a schedule.
    """
    if (program.routing is None) == (program.lengths is None):
        raise StepError(
            "--schedules is for a block of a model with experts or attention: give --routing or "
            "--lengths"
        )
    own = {"tiling"} if program.routing else {"apart"}
    chosen = sorted(own & {text.partition("=")[0].strip() for text in program.settings})
    if program.transforms or chosen:
        given = "--transform" if program.transforms else f"--set {chosen[0]}"
        raise StepError(f"--schedules chooses what {given} does: leave it out")
    on = f"{regions} region" + "s" * (regions > 1)
    if program.routing is None:
        yield Schedule("one region", ("apart=true",))
        for how in ("coarse", "interleaved", "dynamic"):
            divided = f"parallelize:regions={regions},how={how}"
            yield Schedule(f"{how}, {on}", ("apart=true",), (divided,))
        return
    yield Schedule("by address", ("tiling=address",))
    for tiling in ("static", "dynamic"):
        yield Schedule(f"{tiling} tiles", (f"tiling={tiling}",))
    for tiling in ("static", "dynamic"):
        shared = (f"time_multiplex:regions={regions}",)
        yield Schedule(f"{tiling}, {on}", (f"tiling={tiling}",), shared)


def side_by_side(
    program: ProgramOptions,
    hardware: HardwareOptions,
    when: RunOptions,
    regions: int,
    *,
    json: bool,
) -> None:
    """Predict the block under each schedule, and print cycles, traffic and memory."""
    from stepgen.commands.time import timed
    from stepgen.report import console
    from stepgen.tools import waiting

    lines = []
    with waiting.progress(quiet=json) as progress:
        for one in schedules(program, regions):
            progress(one.name, 0.0)
            settings = (*program.settings, *one.settings)
            named = dataclasses.replace(
                program, settings=settings, transforms=one.transforms
            ).named()
            loaded = named.load(tensors=False)
            result = timed(named, loaded, hardware.circuit(), when.timing(), progress)
            lines.append((one.name, *_numbers(result)))
    if json:
        keys = ("schedule", "cycles", "read", "written", "on_chip_bits", "multipliers")
        found = [dict(zip(keys, line, strict=True)) for line in lines]
        show_json({"program": Path(program.program).name, "schedules": found})
        return
    heads = ("schedule", "cycles", "bytes read", "written", "on-chip bits", "multipliers")
    console.show(console.table("Schedules", *heads, rows=lines))


def _numbers(result: TimeResult) -> tuple[int, ...]:
    """Cycles, bytes read and written, bits on chip and multipliers."""
    design = result.design
    multipliers = sum(unit.params.multipliers(design) for unit in design.units)
    return (result.cycles, *result.traffic, result.bits, multipliers)
