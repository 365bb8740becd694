"""``stepgen time``: the cycle model's prediction."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stepgen.cli.config import show_json
from stepgen.cli.groups import check_unused, grouped
from stepgen.cli.options import (
    HardwareOptions,
    PictureOptions,
    ProgramOptions,
    RunOptions,
    WorkerOptions,
    json_option,
)
from stepgen.cli.outputs import INPUT, Output
from stepgen.cli.scenarios import many
from stepgen.cli.schedules import side_by_side

if TYPE_CHECKING:
    from stepgen.commands.time import TimeResult


@grouped
@click.option("--all", "every", is_flag=True, help="Show forks and stop units too.")
@click.option(
    "--scenarios",
    type=INPUT,
    metavar="FILE.npz",
    help="Many runs of one circuit: arrays with a row for each, by name of an input stream, "
    "routing, lengths, seed, latency, ..., stall.NAME and depth.CHANNEL.",
)
@click.option(
    "--run",
    type=click.IntRange(0),
    metavar="N",
    help="Show run N of the --scenarios as a run alone: its units, timeline and trace.",
)
@click.option(
    "--out",
    type=Output(".npz"),
    metavar="FILE.npz",
    help="Write cycles, and bytes read and written, of each of the --scenarios.",
)
@click.option(
    "--schedules",
    "regions",
    type=click.IntRange(1),
    metavar="REGIONS",
    help="A block of a model under each schedule: its experts with --routing, by address, in "
    "static and dynamic tiles, and in turn on so many regions; or its attention with --lengths, on "
    "one region and on so many.",
)
@json_option
def command(
    program: ProgramOptions,
    hardware: HardwareOptions,
    when: RunOptions,
    pictures: PictureOptions,
    who: WorkerOptions,
    *,
    every: bool,
    scenarios: Path | None,
    run: int | None,
    out: Path | None,
    regions: int | None,
    json: bool,
) -> int | None:
    """Predict the cycles of a run, and in how many each unit is busy, starved or full."""
    of_many = None
    if scenarios is None:
        check_unused("is for many runs: add --scenarios", who, "run", "out")
    elif run is None:
        many_are = "is for one run, and --scenarios are many"
        check_unused(f"{many_are}: add --run", pictures, "every")
        check_unused(many_are, "regions")
        return many(program, hardware, when, who, scenarios, out, json=json)
    else:
        check_unused("is not for one run, and --run shows one", who, "out", "regions")
        of_many = scenarios, run
    if regions is not None:
        check_unused("is for one run, and --schedules are several", pictures, "every")
        side_by_side(program, hardware, when, regions, json=json)
        return None
    _one(program, hardware, when, pictures, of_many, every=every, json=json)
    return None


def _one(
    program: ProgramOptions,
    hardware: HardwareOptions,
    when: RunOptions,
    pictures: PictureOptions,
    of_many: tuple[Path, int] | None,
    *,
    every: bool,
    json: bool,
) -> None:
    """A run, also one of many by their file and its number, and each unit in it."""
    from stepgen.commands.time import timed
    from stepgen.compile.cost import traffic_varies
    from stepgen.report import console, timeline
    from stepgen.tools import waiting

    loaded = program.load(tensors=False)
    outdated = program.warn_outdated(loaded, json=json)
    circuit, timing = hardware.circuit(), when.timing()
    with waiting.progress(quiet=json) as progress:
        if of_many is None:
            result = timed(program, loaded, circuit, timing, progress)
        else:
            from stepgen.commands.scenarios import one, read

            path, number = of_many
            result = one(program.named(), circuit, timing, read(path), number, progress)
        data = document(result, every=every or json)
    varies, off_chip = traffic_varies(result.design), data["off_chip_bytes"]
    seen = functools.partial(timeline.of_prediction, loaded.graph.name, result.prediction)
    files = pictures.write(lambda: seen(every=every), lambda: seen(every=True))
    if json:
        show_json({**data, "files": files, "outdated": outdated})
        return
    most = "at most " if varies else ""
    console.show(
        console.units_table(data["units"]),
        f"{data['cycles']:,} cycles",
        f"off-chip {off_chip['model']:,} bytes ({off_chip['read']:,} read, "
        f"{off_chip['written']:,} written), by formula {_known(off_chip['symbolic'], most)}",
    )
    for name, taken in data["choices"].items():
        order = f"in the order {' '.join(map(str, taken))}" if taken else "to their ends, no chunk"
        console.show(f"{name} took its inputs {order}")
    for path in filter(None, files.values()):
        console.show(f"written to {path}")


def _known(number: int | None, most: str) -> str:
    return "unknown" if number is None else f"{most}{number:,}"


def document(result: TimeResult, *, every: bool) -> dict[str, Any]:
    """The prediction, for ``--json``."""
    from stepgen.report.summary import units

    read, written = result.traffic
    return {
        "program": result.program.name,
        "cycles": result.cycles,
        "units": units(result.prediction, every=every),
        "off_chip_bytes": {
            "symbolic": result.symbolic,
            "model": read + written,
            "read": read,
            "written": written,
        },
        "choices": result.choices,
    }
