"""``stepgen verilog``: generates the circuit of a program as Verilog."""

from __future__ import annotations

from pathlib import Path

import click

from stepgen.cli.config import show_json
from stepgen.cli.groups import check_unused, grouped
from stepgen.cli.options import HardwareOptions, ProgramOptions, RunOptions, json_option
from stepgen.cli.outputs import Output
from stepgen.commands.options import BUILD
from stepgen.emit.wraps import FAMILIES, PACKAGES, WRAPS


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
@click.option(
    "--family",
    "families",
    type=click.Choice(FAMILIES),
    multiple=True,
    help="Also write Verilog with the block RAM and multipliers of these FPGAs by name, and "
    "models of them to simulate it with; may be given more than once.",
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
    families: tuple[str, ...],
    json: bool,
) -> None:
    """Write Verilog and a C header of its registers to a design folder, a PROGRAM for others."""
    from stepgen.commands.verilog import generated
    from stepgen.program.design_folder import BENCH
    from stepgen.program.program import golden_of
    from stepgen.report import console
    from stepgen.tools import waiting

    if not bench:
        check_unused("is for a test bench: add --bench", when)
    loaded = program.load(draw=bench)
    experiment = when.timing().experiment(loaded, hardware.circuit(), seed=program.seed)
    earlier = [] if loaded.design is None else [Path(program.program)]
    folder = output or (earlier or [Path(BUILD)])[0]
    with waiting.progress(quiet=json) as progress:
        made = generated(
            loaded,
            experiment,
            folder,
            progress=progress,
            bench=bench,
            golden=golden_of(program.program) if bench else None,
            wraps=wraps,
            host=host,
            packages=packages,
            families=families,
            earlier=earlier,
            change=output is not None or not earlier,
        )
    files = {what: str(place) for what, place in made.files.items()}
    if json:
        how = {
            "hash": made.hash,
            "built": made.built,
            "removed": made.removed,
            "left": made.left,
        }
        show_json({**files, **how})
        return
    console.show(console.pairs_table({**files, "hash": made.hash}))
    if not made.built:
        console.show("the Verilog of this hash was there already and is not built again")
    if made.removed:
        console.show(f"removed {', '.join(made.removed)}: this call does not ask for them")
    for name in made.left:
        why = "--bench writes it anew" if name == BENCH else "it was changed by hand, and is left"
        console.show(f"{folder / name} is of another design: {why}")
