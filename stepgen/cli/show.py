"""``stepgen show``: the graph of a program, or its design table."""

from __future__ import annotations

from json import loads
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stepgen.cli import models
from stepgen.cli.config import show_json
from stepgen.cli.groups import check_unused, grouped
from stepgen.cli.options import HardwareOptions, ProgramOptions, json_option
from stepgen.cli.outputs import Output
from stepgen.cli.ran import luts_option
from stepgen.ir.errors import StepError

if TYPE_CHECKING:
    from stepgen.draw.picture import Picture
    from stepgen.hw.design.table import Design
    from stepgen.ir.graph import Graph
    from stepgen.program.program import Program


@grouped
@click.option("--design", is_flag=True, help="Show units and channels of the circuit, their cost.")
@click.option(
    "--compiled",
    is_flag=True,
    help="Of a model: the units that each operation became, why, and its least cycles for a token.",
)
@click.option(
    "--svg",
    type=Output(".svg"),
    metavar="FILE.svg",
    help="Draw the graph, operators and streams with their types, or with --design the circuit.",
)
@click.option(
    "--dot", type=Output(".dot", ".gv"), metavar="FILE.dot", help="Write it for Graphviz."
)
@click.option(
    "--itensor",
    is_flag=True,
    help="Print the iterative tensor type of each stream: the order of its tiles.",
)
@click.option(
    "--start-times",
    is_flag=True,
    help="Run the cycle model: depths of FIFOs as derived, beside those by a schedule of units.",
)
@click.option("--all", "every", is_flag=True, help="Draw each of several branches that are alike.")
@luts_option
@json_option
def command(
    program: ProgramOptions,
    hardware: HardwareOptions,
    *,
    design: bool,
    compiled: bool,
    svg: Path | None,
    dot: Path | None,
    itensor: bool,
    start_times: bool,
    every: bool,
    luts: bool,
    json: bool,
) -> None:
    """Print operators with their types, or the circuit's units, channels and estimated cost.

    With --itensor: in which order each stream brings the tiles of a tensor, where it is known.

    With --start-times: FIFOs whose depth by a linear program is another than the derived one, and
    how the run on the inputs, drawn ones by default, ends with each.

    With --svg or --dot they are drawn instead, with --design the units and channels; of branches
    that are alike, such as experts, one is drawn, with their number.

    Of a model: its layers, with parameters, bytes and operations for one token, with as many rows
    in the caches as --set cache=N says, and the least cycles of a circuit. With --set element=bf16,
    or another parameter of its program: the operators of that. With --compiled: units.
    """
    if not design and not compiled and not start_times:
        check_unused("is for the circuit: add --design", hardware)
    drawn = svg is not None or dot is not None
    if drawn and compiled:
        raise StepError("--compiled prints units, and --svg and --dot draw: leave one of them out")
    if design and compiled:
        raise StepError("--design prints all units and --compiled those of operations: leave one")
    if itensor and (design or compiled or drawn):
        raise StepError("--itensor prints the orders of streams: leave out what prints or draws")
    if start_times and (itensor or design or compiled or drawn):
        raise StepError("--start-times prints depths of FIFOs: leave out what else prints or draws")
    if not drawn:
        check_unused("is for drawings: add --svg or --dot", "every")
    if drawn or not design:
        check_unused("is for the table of a circuit: add --design", "luts")
    if compiled:
        models.compiled(program, hardware, json=json)
        return
    named, made = program.named(), None
    lowered = program.routing or program.lengths or program.transforms
    if not (design or drawn or itensor or start_times or lowered):
        model, settings, made = named.model()
        if model is not None and {*settings} <= {"cache"}:
            models.show(program, model, settings, json=json)
            return
    loaded = named.load(draw=start_times, tensors=start_times, made=made)
    program.warn_outdated(loaded)
    if drawn:
        _draw(_picture(loaded, hardware, design=design, every=every), svg, dot, json=json)
    elif start_times:
        _depths(loaded, hardware, json=json)
    elif itensor:
        _orders(loaded.graph, json=json)
    elif design:
        _design(hardware.circuit().experiment(loaded).design, luts=luts, json=json)
    elif json:
        from stepgen.ir.text import dumps

        print(dumps(loaded.graph))
    else:
        _graph(loaded.graph)


def _picture(loaded: Program, hardware: HardwareOptions, *, design: bool, every: bool) -> Picture:
    """The picture of a program, or of its circuit."""
    from stepgen.draw.alike import collapsed
    from stepgen.hw.picture import design_picture
    from stepgen.ir.picture import picture

    if not design:
        return picture(loaded.graph, every=every)
    drawn = design_picture(hardware.circuit().experiment(loaded).design, loaded.graph)
    return drawn if every else collapsed(drawn)


def _draw(drawn: Picture, svg: Path | None, dot: Path | None, *, json: bool) -> None:
    """Write the drawings that are asked for, and print where they are."""
    from stepgen.draw import dot as dots
    from stepgen.draw import svg as svgs
    from stepgen.draw.layout import lay_out
    from stepgen.report import console
    from stepgen.tools.atomic import atomic_file

    if dot is not None:
        with atomic_file(dot) as place:
            place.write_text(dots.dot(drawn), encoding="utf-8")
    if svg is not None:
        placed = lay_out(drawn)
        if placed.note:
            console.warn(placed.note)
        with atomic_file(svg) as place:
            place.write_text(svgs.svg(placed), encoding="utf-8")
    files = {"svg": svg, "dot": dot}
    if json:
        show_json({"boxes": len(drawn.boxes), "files": files})
        return
    for path in filter(None, files.values()):
        console.show(f"written to {path}")


def _graph(graph: Graph) -> None:
    """Print operators, and why those that are marked have no circuit as they are used."""
    from stepgen.compile.limits import without_circuit
    from stepgen.ir.show import show_graph
    from stepgen.ir.system import SystemGraph

    reasons = without_circuit(graph)
    print(graph if isinstance(graph, SystemGraph) else show_graph(graph, reasons))
    if reasons:
        print("\n! has no circuit as it is used here:")
    for reason in reasons.values():
        print(f"  {reason}")


def _orders(graph: Graph, *, json: bool) -> None:
    """Print the iterative tensor type of each stream, or why it is not known."""
    from stepgen.ir.ordering import described
    from stepgen.ir.system import SystemGraph

    if isinstance(graph, SystemGraph):
        raise StepError("--itensor is for a program of its own: show the parts of a system")
    found = described(graph)
    if json:
        keys = ("stream", "of", "itensor", "unknown")
        show_json({"streams": [dict(zip(keys, row, strict=True)) for row in found]})
        return
    width, data = (max((len(row[i]) for row in found), default=0) for i in (0, 1))
    for stream, of, order, why in found:
        print(f"{stream:{width}}  {of:{data}}  {order or f'not known: {why}'}")


def _depths(loaded: Program, hardware: HardwareOptions, *, json: bool) -> None:
    """Print depths by start times beside the derived ones, and how a run ends with each."""
    from stepgen.cosim.scheduled import scheduled
    from stepgen.report import console
    from stepgen.report import scheduled as report
    from stepgen.tools import waiting

    with waiting.progress(quiet=json) as progress:
        progress("predicting", 0)
        found = scheduled(hardware.circuit().experiment(loaded))
    if json:
        show_json(report.document(found))
    else:
        console.show(*report.tables(found))


def _design(table: Design, *, luts: bool, json: bool) -> None:
    """Print a design table, and what it takes of an FPGA by estimate."""
    from stepgen.hw.design.table import ESTIMATE
    from stepgen.report import console, resources
    from stepgen.synth.estimate import estimate
    from stepgen.tools import waiting

    found, missing = None, ""
    if luts:
        try:
            with waiting.progress(quiet=json) as progress:
                found = estimate(table, progress=progress)
        except StepError as error:  # a unit of one's own may have no circuit yet
            missing = f"resources can't be estimated: {error}"
    if json:
        extra = {} if found is None else {ESTIMATE: resources.document(table, found)}
        console.show_json({**loads(table.to_json()), **extra})
        return
    shown = (missing,) * bool(missing) if found is None else resources.tables(table, found)
    console.show(*console.design_tables(table), *shown)
