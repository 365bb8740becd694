"""``stepgen verilog``: generates the circuit of a program as Verilog."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stepgen.cli.groups import check_unused, grouped
from stepgen.cli.options import HardwareOptions, ProgramOptions, RunOptions, json_option
from stepgen.cli.outputs import Output
from stepgen.emit.wraps import PACKAGES, WRAPS

if TYPE_CHECKING:
    from collections.abc import Callable


@grouped
@click.option(
    "-o",
    "--out",
    "output",
    type=Output(),
    metavar="DIR",
    help="Folder for the results; by default build, or the design folder that PROGRAM is.",
)
@click.option(
    "--bench",
    is_flag=True,
    help="Also write a test bench that lives without stepgen; memory and stalls are for it.",
)
@click.option(
    "--wrap",
    "wraps",
    type=click.Choice(WRAPS),
    multiple=True,
    help="Also write a module around the design with the standard names of these buses; may be "
    "given more than once.",
)
@click.option(
    "--host", is_flag=True, help="Also write a host library in C: tensors, runs, counters."
)
@click.option(
    "--package",
    "packages",
    type=click.Choice(PACKAGES),
    multiple=True,
    help="Also describe the folder to the tools of others; may be given more than once.",
)
@json_option
def command(
    program: ProgramOptions,
    hardware: HardwareOptions,
    when: RunOptions,
    *,
    output: Path | None,
    bench: bool,
    wraps: tuple[str, ...],
    host: bool,
    packages: tuple[str, ...],
    json: bool,
) -> None:
    """Write Verilog and a C header of its registers to a design folder, a PROGRAM for others."""
    from stepgen.emit.design_writer import write
    from stepgen.report import console
    from stepgen.tools import waiting

    if not bench:
        check_unused("is for a test bench: add --bench", when)
    loaded = program.load(draw=bench)
    experiment = when.experiment(loaded, hardware, seed=program.seed)
    design = experiment.design
    earlier = [] if loaded.design is None else [Path(program.program)]
    folder = output or (earlier or [Path("build")])[0]
    with ExitStack() as opened:
        progress = opened.enter_context(waiting.progress(quiet=json))
        change = output is not None or not earlier
        bench_files: list[str] = []
        put: Callable[[], dict[str, str]] = dict
        if bench:
            from stepgen.cosim.standalone import needed, prepared
            from stepgen.program.program import golden_of

            bench_files = needed(experiment)
            progress("preparing the test bench", 0.0)
            # What is wrong with it is told before the folder changes.
            put = opened.enter_context(prepared(folder, experiment, golden_of(program.program)))
        progress("writing Verilog", 0.5)
        written = write(
            folder,
            loaded,
            design,
            wraps=wraps,
            host=host,
            packages=packages,
            bench=bench_files,
            earlier=earlier,
            change=change,
        )
        names = {**written.files, **put()}
    files = {what: str(folder / name) for what, name in names.items()}
    if json:
        console.show_json({**files, "hash": written.hash, "built": written.built})
        return
    console.show(console.pairs_table({**files, "hash": written.hash}))
    if not written.built:
        console.show("the Verilog of this hash was there already and is not built again")
