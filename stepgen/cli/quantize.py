"""``stepgen quantize``: makes a model of integers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stepgen.cli.groups import grouped
from stepgen.cli.options import json_option
from stepgen.cli.outputs import INPUT, NAME, Output

if TYPE_CHECKING:
    from stepgen.frontend.model import Model


@grouped
@click.argument("model", type=NAME)
@click.option(
    "--calibrate",
    type=INPUT,
    metavar="FILE",
    help="Ids of a text on which places and steps are chosen (npz, npy, csv), some hundred "
    "suffice; of a model without ids its inputs by name (npz). w8 and w4 need none.",
)
@click.option(
    "--scheme",
    type=click.Choice(["int", "w8", "w4", "w8a8", "w4a8"]),
    default="int",
    help="int: integers alone, weights and factors of 8 bits. w8, w4: weights of linears and "
    "experts in 8 or 4 bits with scales, real numbers else. w8a8, w4a8: what these read in 8 bits, "
    "too, in steps.",
)
@click.option(
    "--group",
    type=click.IntRange(1),
    metavar="ROWS",
    help="Most rows of a weight that share a scale: groups are equal, so fewer may; not for int.  "
    "[default: all]",
)
@click.option(
    "--scales",
    type=click.Choice(["columns", "powers"]),
    help="columns: a real number for each column of a weight, and for a value in each layer. "
    "powers: a power of two for a weight and for a value, in all layers, so that circuits load no "
    "scale and are smaller; not for int, whose are powers of two.  [default: columns]",
)
@click.option(
    "--calibration",
    type=click.Choice(["mse", "minmax", "percentile"]),
    help="What steps of values do not cut off, of w8a8 and w4a8. mse: what makes the squares of "
    "errors least. minmax: all that was seen. percentile: all but one number of a thousand.  "
    "[default: mse]",
)
@click.option(
    "--override",
    multiple=True,
    metavar="PATTERN=SCHEME",
    help="A scheme with scales, or none, of the operations whose names fit, such as "
    "*.mlp.*=w4a8; repeatable, the last that fits counts.",
)
@click.option(
    "--evaluate",
    type=INPUT,
    metavar="FILE",
    help="Ids of a text whose loss is printed.  [default: those of --calibrate]",
)
@click.option(
    "-o",
    "--out",
    type=Output(".stepgen"),
    metavar="FILE.stepgen",
    help="Write the model; else what it costs is printed alone.",
)
@json_option
def command(
    *,
    model: str,
    calibrate: Path | None,
    scheme: str,
    group: int | None,
    scales: str | None,
    calibration: str | None,
    override: Sequence[str],
    evaluate: Path | None,
    out: Path | None,
    json: bool,
) -> None:
    """Make a model with numbers of fewer bits.

    MODEL is a .stepgen file, which stepgen import writes, or a config.json. With the scheme int,
    binary places of weights and values are searched for, so that the distributions of the next
    token change least. With the others, linears and experts have weights of 8 or 4 bits, whose
    scales make the squares of errors least. With w8a8 and w4a8 what they read is int8, and their
    products are exact. What is printed: errors, and the loss before and after.
    """
    from stepgen.cli.models import ids_of
    from stepgen.frontend import files
    from stepgen.frontend.quantizing.calibration import LEAST
    from stepgen.frontend.quantizing.quantize import quantized
    from stepgen.ir.errors import StepError
    from stepgen.program.models import is_model, load
    from stepgen.program.settings import pairs
    from stepgen.report import console
    from stepgen.report import quantized as report
    from stepgen.tools import waiting

    schemes = pairs(override, "--override")
    if not is_model(model):
        raise StepError(
            f"{model} is not a model, a file that stepgen import writes{_import(model)}"
        )
    with waiting.progress(quiet=json) as progress:
        progress("reading", 0.0)
        given = load(model)
        ids = None if calibrate is None else _calibration(given, calibrate)
        unseen = None if evaluate is None else ids_of(evaluate, LEAST)
        progress("calibrating", 0.02)
        found = quantized(
            given,
            ids,
            scheme,
            unseen,
            lambda part: progress("searching", 0.05 + 0.9 * part),
            group=group,
            scales=scales,
            calibration=calibration,
            override=schemes,
        )
        if out is not None:
            progress("writing", 0.98)
            files.save(found.model, out)
    if json:
        console.show_json({**report.document(found), "out": None if out is None else str(out)})
        return
    console.show(*report.tables(found))
    if out is not None:
        console.show(f"written to {out}, a file of {out.stat().st_size:,} bytes")


def _import(model: str) -> str:
    """How a checkpoint becomes a model, if the text names the folder of one."""
    folder = Path(model)
    if not (folder / "config.json").is_file():
        return ""
    return f": import it first, stepgen import {model} -o {folder.resolve().name}.stepgen"


def _calibration(model: Model, path: Path) -> Any:
    """Ids, or the inputs of a model without ids."""
    from stepgen.cli.models import ids_of
    from stepgen.frontend.quantizing.calibration import LEAST
    from stepgen.semantics.arrays import ALONE, read

    if "ids" in model.inputs:
        return ids_of(path, LEAST)
    found = read(path, "the calibration set", f"{path} holds no arrays")
    return found.get(ALONE, found)
