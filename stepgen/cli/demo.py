"""``stepgen demo``: the mixture-of-experts layer with static and dynamic tiles, and on a board."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stepgen.cli.groups import given_options, grouped
from stepgen.cli.options import HardwareOptions, RunOptions, json_option
from stepgen.cli.outputs import INPUT, Output
from stepgen.program.demo import RUNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from stepgen.cosim.experiment import Experiment
    from stepgen.cosim.verdict import Verdict
    from stepgen.program.program import Program

BOARD = "virtual:ulx3s-85f"
ON_BOARD = {
    **{"tiling": "dynamic", "results": "columns", "tokens": "8", "experts": "2"},
    **{"width": "16", "hidden": "32"},
}
"""A layer whose tensors are quickly sent over a serial link."""
WAVEFORM_CYCLES = 5000
"""Length of the waveforms: a full run takes gigabytes, and matrix units are busy by then."""


@grouped
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Parameter of the layer, such as tokens=16.",
)
@click.option(
    "--routing",
    type=INPUT,
    metavar="FILE",
    help="Experts chosen per token (npz, npy, csv); by default drawn.",
)
@click.option("--seed", type=click.IntRange(0), default=0, help="Seed of everything that is drawn.")
@click.option(
    "--board/--no-board", default=True, help="Run a small layer on a simulated board, too."
)
@click.option("--driver", default="cocotb", help="What drives the simulation: cocotb or cpp.")
@click.option(
    "-o",
    "--out",
    "output",
    type=Output(),
    default="build/demo",
    metavar="DIR",
    help="Folder for the results.",
)
@json_option
def command(
    hardware: HardwareOptions,
    when: RunOptions,
    *,
    settings: Sequence[str],
    routing: Path | None,
    seed: int,
    board: bool,
    driver: str,
    output: Path,
    json: bool,
) -> int:
    """Build and verify a mixture-of-experts layer, with static and with dynamic tiles.

    It ends on a simulated board with a smaller layer: the board's own circuits, its link and
    the host's part of it.
    """
    from stepgen.cli.deploy import lines
    from stepgen.cosim.waves import suffix
    from stepgen.emit.design_writer import write
    from stepgen.program.design_folder import MANIFEST, check_target
    from stepgen.report import console, summary, timeline
    from stepgen.tools import waiting
    from stepgen.tools.atomic import atomic_folder

    wave = suffix()
    for tiling in RUNS:
        check_target(output / tiling)
    programs = [_load(tiling, settings, routing, seed) for tiling in RUNS]
    experiments = [when.timing().experiment(p, hardware.circuit(), seed=seed) for p in programs]
    with waiting.progress(quiet=json) as progress, atomic_folder(output) as place:
        verdicts, columns = [], []
        for tiling, program, experiment in zip(RUNS, programs, experiments, strict=True):
            report = _prefixed(progress, f"{tiling} tiles")
            report("writing Verilog", 0.0)
            write(place / tiling, program, experiment.design, earlier=[output / tiling])
            verdicts.append(
                experiment.test(
                    place / tiling,
                    driver=driver,
                    waveform=place / f"{experiment.design.name}{wave}",
                    waveform_cycles=WAVEFORM_CYCLES,
                    progress=report,
                )
            )
            report("counting memories", 0.99)
            columns.append(_column(program, experiment, verdicts[-1]))
        progress("drawing the timeline", 0.99)
        runs = [
            timeline.Timeline(f"{tiling} tiles", e.prediction.cycles, summary.outline(e.prediction))
            for tiling, e in zip(RUNS, experiments, strict=True)
        ]
        timeline.draw(place / "timeline.png", runs)
        for tiling, text in zip(RUNS, _pages(programs, experiments), strict=True):
            (place / f"{tiling}.html").write_text(text, encoding="utf-8")
        deployed = _deployed(seed, _prefixed(progress, BOARD)) if board else None
    names = {tiling: e.design.name for tiling, e in zip(RUNS, experiments, strict=True)}
    files = {f"Verilog, {t}": str(output / t / f"{name}.v") for t, name in names.items()}
    files |= {f"design table, {t}": str(output / t / MANIFEST) for t in RUNS}
    waveform = f"waveform of the first {WAVEFORM_CYCLES:,} cycles"
    files |= {f"{waveform}, {t}": str(output / f"{name}{wave}") for t, name in names.items()}
    files["timeline"] = str(output / "timeline.png")
    files |= {f"where the cycles go, {t}": str(output / f"{t}.html") for t in RUNS}
    good = all(v.good for v in verdicts) and (deployed is None or bool(deployed["good"]))
    if json:
        runs_data = dict(zip(RUNS, columns, strict=True))
        document = {"good": good, "runs": runs_data, "board": deployed, "files": files}
        console.show_json(document)
    else:
        console.show(console.demo_table([*RUNS], columns), console.pairs_table(files))
        if deployed is not None:
            console.show("", f"A layer of {ON_BOARD['experts']} experts on {BOARD}:")
            console.show(*lines(deployed))
        for tiling, verdict in zip(RUNS, verdicts, strict=True):
            for fault in verdict.outcome.faults:
                console.show(f"{tiling}: {fault}")
    return 0 if good else 1


def _load(tiling: str, settings: Sequence[str], routing: Path | None, seed: int) -> Program:
    from stepgen.program import program
    from stepgen.program import routing as routings
    from stepgen.program.settings import pairs

    chosen = {**RUNS[tiling], **pairs(settings, "--set"), "tiling": tiling}
    given = None if routing is None else routings.read(routing)
    return program.load("moe", chosen, routing=given, seed=seed)


def _prefixed(progress: Callable[[str, float], None], name: str) -> Callable[[str, float], None]:
    def report(what: str, share: float) -> None:
        progress(f"{name}: {what}", share)

    return report


def _deployed(seed: int, progress: Callable[[str, float], None]) -> dict[str, Any]:
    """A run of a small layer on the simulated board."""
    from stepgen.board.device import Device
    from stepgen.cli.deploy import document
    from stepgen.program import program

    small = program.load("moe", ON_BOARD, seed=seed)
    with Device(BOARD, small.graph, seed=seed, progress=progress) as device:
        report = device.test(small.inputs, progress=progress)
        return document(report, BOARD, 1, device.link.traffic.repeated)


def _pages(programs: Sequence[Program], experiments: Sequence[Experiment]) -> Iterator[str]:
    """A page for each tiling; that of the dynamic one stands beside the static one."""
    from stepgen.report.comparison import comparison
    from stepgen.report.page import page
    from stepgen.report.ran import Ran

    first, second = (
        Ran(program, experiment, experiment.prediction)
        for program, experiment in zip(programs, experiments, strict=True)
    )
    given = given_options()
    compared = comparison(first, second, [f"{tiling} tiles" for tiling in RUNS])
    yield page(first, given)
    yield page(second, given, compared=compared)


def _column(program: Program, experiment: Experiment, verdict: Verdict) -> dict[str, Any]:
    """One column of the table."""
    from stepgen.hw.design.registers import READ_BEATS, WRITE_BEATS
    from stepgen.hw.units.matmul.params import Matmul
    from stepgen.report import summary

    registers = verdict.outcome.registers
    words = registers[READ_BEATS.offset] + registers[WRITE_BEATS.offset]
    predicted_bits, allocated_bits = summary.memory_bits(experiment)
    return {
        "cycles_predicted": experiment.prediction.cycles,
        "cycles_rtl": verdict.outcome.cycles,
        "off_chip_bytes_symbolic": summary.symbolic_traffic(program, experiment),
        "off_chip_bytes_bus": words * experiment.bus.bytes,
        "on_chip_bits_predicted": predicted_bits,
        "on_chip_bits_allocated": allocated_bits,
        "matrix_occupancy": summary.occupancy(experiment.prediction),
        "matrix_units": sum(1 for _ in experiment.design.of_kind(Matmul)),
        "compared": verdict.compared,
        "good": verdict.good,
        "faults": verdict.outcome.faults,
    }
