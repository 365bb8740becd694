"""``stepgen run``: runs the reference on a program's inputs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stepgen.cli import models, prompts
from stepgen.cli.config import show_json
from stepgen.cli.groups import grouped
from stepgen.cli.lanes_option import LANES_OPTION
from stepgen.cli.options import ProgramOptions, json_option
from stepgen.cli.outputs import INPUT, Output
from stepgen.ir.errors import StepError
from stepgen.ir.wire import LANES

if TYPE_CHECKING:
    from stepgen.commands.run import RunResult


@grouped
@click.option(
    "--lanes",
    help="Lanes of a slice, which decide the order of floating-point sums; also of single "
    "operators or functions, as in 2,matmul=8.",
    **LANES_OPTION,
)
@click.option(
    "-o",
    "--out",
    type=Output(".npz"),
    metavar="FILE.npz",
    help="Write output streams and stored tensors.",
)
@click.option(
    "--save-inputs",
    type=Output(".npz"),
    metavar="FILE.npz",
    help="Write all inputs, including drawn ones; --inputs reads them.",
)
@click.option(
    "--ids",
    type=INPUT,
    metavar="FILE",
    help="Tokens of a model (npz, npy, csv); several arrays are prompts that run together.",
)
@models.more_option
@click.option(
    "--golden", is_flag=True, help="Run the operations of a model, in doubles, by numpy alone."
)
@json_option
def command(
    program: ProgramOptions,
    *,
    ids: Path | None,
    more: int,
    golden: bool,
    lanes: int | str | None,
    out: Path | None,
    save_inputs: Path | None,
    json: bool,
) -> None:
    """Run the reference (golden model) and print its results."""
    if golden:
        models.run(program, ids, more, out, save_inputs, json=json)
        return
    from stepgen.ir.lanes import lanes_from

    asked = None if lanes is None else lanes_from(str(lanes))
    text = models.text_of(ids, more)
    if text is not None:
        if save_inputs is not None:
            raise StepError("--save-inputs is for one run: leave it out, or leave --ids out")
        several = prompts.prompts_of(ids, more)
        if several is not None:
            prompts.decode(program, several, asked or LANES, out, json=json)
            return
        models.decode(program, text, asked or LANES, out, json=json)
        return
    from stepgen.commands.run import ran
    from stepgen.program import inputs
    from stepgen.report import console
    from stepgen.tools import waiting

    with waiting.progress(quiet=json) as progress:
        progress("building the program", 0.0)
        loaded = program.load()
        outdated = program.warn_outdated(loaded, json=json)
        progress("running", 0.1)
        result = ran(loaded, asked)
    streams = loaded.graph.outputs
    stored = result.written
    if out is not None:
        inputs.save(
            out,
            {name: (result.streams[name], s.rank) for name, s in streams.items()},
            {name: result.tensors[name] for name in stored},
        )
    if save_inputs is not None:
        inputs.save_given(save_inputs, loaded.graph, loaded.inputs)
    if json:
        document = _document(result, out)
        show_json({**document, "outdated": outdated})
        return
    if result.drawn:
        console.show(f"drawn: {', '.join(result.drawn)} (seed {program.seed})")
    for name, stream in streams.items():
        console.show(f"{name}: {stream}, {result.count(name)} values")
        console.show(f"  {result.start(name)}")
    for name in stored:
        console.show(f"{name}: {loaded.graph.tensors[name]!r}")
        console.show("  " + str(result.tensors[name]).replace("\n", "\n  "))
    if out is not None:
        console.show(f"written to {out}")


def _document(result: RunResult, out: Path | None) -> dict[str, Any]:
    return {
        "streams": {
            name: {
                "type": str(result.types[name]),
                "tokens": len(result.streams[name]),
                "values": result.count(name),
            }
            for name in result.outputs
        },
        "tensors": {name: list(result.tensors[name].shape) for name in result.written},
        "out": None if out is None else str(out),
    }
