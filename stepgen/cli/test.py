"""``stepgen test``: co-simulation of the Verilog, against reference and prediction."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from stepgen.cli import models, prompts
from stepgen.cli.config import show_json
from stepgen.cli.groups import check_unused, grouped
from stepgen.cli.options import HardwareOptions, ProgramOptions, RunOptions, json_option
from stepgen.cli.outputs import INPUT, Output
from stepgen.commands.options import TEST
from stepgen.cosim.simulators import SIMULATORS, Simulator

MOST_FAULTS = 10


@grouped
@click.option(
    "-o",
    "--out",
    "output",
    type=Output(),
    default=TEST,
    metavar="DIR",
    help="Folder for test bench and results.",
)
@click.option(
    "--driver",
    default="cocotb",
    help="cocotb; cpp (faster); judge (cocotbext-axi as an independent AXI model; "
    "cycles are not compared).",
)
@click.option(
    "--simulator",
    type=click.Choice(SIMULATORS),
    default="verilator",
    help="icarus has four states and finds an X in the wrong place; it is slower.",
)
@click.option("--waveform", is_flag=True, help="Write a waveform into the folder.")
@click.option(
    "--waveform-cycles",
    metavar="N|A:B",
    help="The first N cycles in the waveform, or those from A to before B; by default all.",
)
@click.option(
    "--waveform-units",
    multiple=True,
    metavar="UNIT",
    help="A unit in the waveform, with the channels that it reads and writes; repeatable; by "
    "default all.",
)
@click.option(
    "--abort",
    "aborts",
    multiple=True,
    type=click.IntRange(0, (1 << 48) - 1),
    metavar="CYCLE",
    help="First abort a run in this cycle by a soft reset; repeatable.",
)
@click.option(
    "--ids",
    type=INPUT,
    metavar="FILE",
    help="Tokens of a model (npz, npy, csv), which run one after the other on one memory; several "
    "arrays are prompts that run together.",
)
@models.more_option
@json_option
def command(
    program: ProgramOptions,
    hardware: HardwareOptions,
    when: RunOptions,
    *,
    output: Path,
    driver: str,
    simulator: Simulator,
    waveform: bool,
    waveform_cycles: str | None,
    waveform_units: Sequence[str],
    aborts: Sequence[int],
    ids: Path | None,
    more: int,
    json: bool,
) -> int:
    """Simulate the Verilog; compare values, every cycle, memory and counters."""
    from stepgen.commands.test import tested
    from stepgen.ir.errors import StepError
    from stepgen.program.design_folder import check_target
    from stepgen.tools import waiting

    if not waveform:
        check_unused("is for a waveform: add --waveform", "waveform_cycles", "waveform_units")
    check_target(output)
    text, several = models.text_of(ids, more), prompts.prompts_of(ids, more)
    if several is not None:
        loaded, groups = prompts.experiments(program, hardware, when, several)
    elif text is None:
        loaded = program.load()
        groups = [[when.timing().experiment(loaded, hardware.circuit(), seed=program.seed)]]
    else:
        loaded, groups = models.experiments(program, hardware, when, text)
    if (why := program.outdated(loaded)) is not None:
        raise StepError(why)
    with waiting.progress(quiet=json) as progress:
        result = tested(
            loaded,
            groups,
            output,
            progress=progress,
            driver=driver,
            simulator=simulator,
            waveform=waveform,
            waveform_cycles=waveform_cycles,
            waveform_units=waveform_units,
            aborts=aborts,
        )
    data = result.document()
    if json:
        show_json(data)
    else:
        _show(data)
    return 0 if data["good"] else 1


def _show(data: dict[str, Any]) -> None:
    from stepgen.report import console

    cycles, compared = data["cycles"], data["compared"]
    if data["unpredicted"]:
        beside = data["unpredicted"]
    elif data["driver"] != "judge":
        beside = f"{cycles['predicted']:,} predicted"
    else:
        beside = "not compared, since the independent AXI model has another timing"
    each = [one["simulated"] for one in data.get("tokens", ())]
    runs = [("tokens", f"{len(each)}, of {min(each):,} to {max(each):,} cycles")] if each else []
    lines = [
        *runs,
        ("cycles", f"{cycles['simulated']:,} in the RTL, {beside}"),
        *((f"{what} compared", f"{count:,}") for what, count in compared.items()),
        (
            "simulated in",
            f"{data['seconds']} s by {data['simulator']}, built in {data['build_seconds']} s",
        ),
        ("results in", data["folder"]),
    ]
    if data["waveform"]:
        lines.append(("waveform", data["waveform"]))
    console.show(console.pairs_table(dict(lines)))
    console.show(console.verdict(data["good"]))
    for fault in data["faults"][:MOST_FAULTS]:
        console.show(f"  {fault}")
