"""``stepgen test``: co-simulation of the Verilog, against reference and prediction."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stepgen.cli import models
from stepgen.cli.groups import check_unused, grouped
from stepgen.cli.options import HardwareOptions, ProgramOptions, RunOptions, json_option
from stepgen.cli.outputs import INPUT, Output
from stepgen.cosim.simulators import SIMULATORS, Simulator

if TYPE_CHECKING:
    from stepgen.cosim.verdict import Verdict

MOST_FAULTS = 10


@grouped
@click.option(
    "-o",
    "--out",
    "output",
    type=Output(),
    default="build/test",
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
    help="icarus has four states and finds an X where none may be; it is slower.",
)
@click.option("--waveform", is_flag=True, help="Write a waveform into the folder.")
@click.option(
    "--waveform-cycles",
    type=click.IntRange(1),
    metavar="N",
    help="End the waveform after N cycles: a cycle of a large design takes about 30 KB.",
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
    help="Tokens of a model (npz, npy, csv), which run one after the other on one memory.",
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
    waveform_cycles: int | None,
    aborts: Sequence[int],
    ids: Path | None,
    more: int,
    json: bool,
) -> int:
    """Simulate the Verilog; compare values, every cycle, memory and counters."""
    from stepgen.cosim.experiment import simulate
    from stepgen.emit.design_writer import write
    from stepgen.ir.errors import StepError
    from stepgen.program.design_folder import check_target
    from stepgen.report import console
    from stepgen.tools import waiting
    from stepgen.tools.atomic import atomic_folder

    if not waveform:
        check_unused("is for a waveform: add --waveform", "waveform_cycles")
    check_target(output)
    text = models.text_of(ids, more)
    if text is None:
        loaded = program.load()
        groups = [[when.experiment(loaded, hardware, seed=program.seed)]]
    else:
        loaded, groups = models.experiments(program, hardware, when, text)
    for experiment in (one for group in groups for one in group):
        experiment.aborts = tuple(aborts)
    design = groups[0][0].design
    if (why := program.outdated(loaded)) is not None:
        raise StepError(why)
    vcd = f"{design.name}.vcd" if waveform else None
    verdicts = []
    with waiting.progress(quiet=json) as progress, atomic_folder(output) as place:
        for group in groups:
            verdicts += simulate(
                group,
                place if group is groups[0] else place / group[0].design.name,
                driver=driver,
                simulator=simulator,
                waveform=None if vcd is None or group is not groups[0] else place / vcd,
                waveform_cycles=waveform_cycles,
                progress=progress,
            )
        write(output, loaded, design, circuit=False)
    data = joined([document(verdict, driver, simulator) for verdict in verdicts])
    data["folder"] = str(output)
    data["waveform"] = None if vcd is None else str(output / vcd)
    if json:
        console.show_json(data)
    else:
        _show(data)
    return 0 if data["good"] else 1


def joined(documents: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Results of several runs as those of one, for ``--json``; cycles of each are in ``tokens``."""
    first, *others = documents
    if not others:
        return first
    cycles = [one["cycles"] for one in documents]
    return first | {
        "good": all(one["good"] for one in documents),
        "faults": [fault for one in documents for fault in one["faults"]],
        "cycles": {
            who: None if first["cycles"][who] is None else sum(one[who] for one in cycles)
            for who in ("predicted", "simulated")
        },
        "tokens": cycles,
        "compared": {
            what: sum(one["compared"][what] for one in documents) for what in first["compared"]
        },
        "seconds": round(sum(one["seconds"] for one in documents), 3),
    }


def document(verdict: Verdict, driver: str, simulator: Simulator) -> dict[str, Any]:
    """Results of a co-simulation, for ``--json``."""
    outcome, compared = verdict.outcome, verdict.compared
    if driver == "judge":  # its memory has another timing
        compared = {what: compared[what] for what in ("values", "memory")}
    prediction = verdict.prediction
    return {
        "good": verdict.good,
        "faults": outcome.faults,
        "driver": driver,
        "simulator": simulator,
        "cycles": {
            "predicted": None if prediction is None else prediction.cycles,
            "simulated": outcome.cycles,
        },
        "unpredicted": verdict.unpredicted or None,
        "compared": compared,
        "build_seconds": round(verdict.build_seconds, 2),
        "seconds": round(outcome.seconds, 3),
    }


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
