"""``stepgen import``: makes a model of a PyTorch module, a checkpoint or an ONNX file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stepgen.cli.groups import grouped
from stepgen.cli.options import json_option
from stepgen.cli.outputs import NAME, Output

if TYPE_CHECKING:
    from stepgen.frontend.imported import Imported
    from stepgen.frontend.model import Model


_NOT_IMPORTED = {
    ".safetensors": "has weights without the config of their model",
    ".pt2": "is a flat program without modules, whose blocks can't be recognised",
    **dict.fromkeys((".pt", ".pth", ".bin", ".ckpt", ".pkl"), "may run code when it is read"),
}
"""By suffix, what is wrong with a file that some have a model in."""


@grouped
@click.argument("source", type=NAME)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the function; repeatable.",
)
@click.option(
    "--tokens",
    type=click.IntRange(1),
    metavar="N",
    help="Most tokens of one run.  [default: 1024, of a checkpoint its longest context]",
)
@click.option(
    "-o",
    "--out",
    type=Output(".stepgen"),
    metavar="FILE.stepgen",
    help="Write the model; else what was found is printed alone.",
)
@json_option
def command(
    *, source: str, settings: Sequence[str], tokens: int | None, out: Path | None, json: bool
) -> None:
    """Make a model of PyTorch, a checkpoint or ONNX (no relation to the option --import).

    SOURCE is path.py:function, a function that returns a module, or a module and example inputs; a
    folder with config.json and files of safetensors; a config.json alone, for random weights; or a
    file.onnx of an MLP.
    """
    from stepgen.frontend import files
    from stepgen.report import console, models
    from stepgen.tools import waiting

    with waiting.progress(quiet=json) as progress:
        progress("importing", 0.0)
        found = _imported(source, settings, tokens)
        if out is not None:
            progress("writing", 0.8)
            files.save(found.model, out)
    if json:
        console.show_json(
            {
                "origin": found.origin,
                "recognised": found.blocks,
                "operations": found.kinds,
                "loops": found.loops,
                "error": found.error,
                "tokens": list(found.model.tokens),
                "parameters": found.model.parameters,
                "out": None if out is None else str(out),
            }
        )
        return
    console.show(*models.found(found))
    if out is not None:
        console.show(f"written to {out}")


def _imported(source: str, settings: Sequence[str], tokens: int | None) -> Imported:
    from stepgen.frontend.imported import Imported
    from stepgen.frontend.kind import TOKENS
    from stepgen.frontend.loading import from_checkpoint, from_config
    from stepgen.frontend.model import Model
    from stepgen.frontend.onnxfile import importing as onnxfile
    from stepgen.frontend.pytorch import needed
    from stepgen.frontend.pytorch.importing import imported
    from stepgen.ir.errors import StepError
    from stepgen.program import program
    from stepgen.program.settings import bind, pairs

    path = Path(source)
    if path.is_dir() or path.suffix == ".onnx":
        if settings:
            what = "a checkpoint" if path.is_dir() else "an ONNX file"
            raise StepError(f"{source} is {what} and takes no parameters")
        if path.suffix == ".onnx":
            return onnxfile.imported(path, tokens or 1024)
        return Imported(_at_most(from_checkpoint(path), tokens), source, {})
    if path.suffix == ".json":

        def drawn(seed: int = 0) -> Model:
            return from_config(path, seed)

        given = bind(drawn, pairs(settings, "--set"), {}, source)
        return Imported(_at_most(drawn(**given), tokens), source, {})
    file = source.rpartition(":")[0] or source
    if not file.endswith(".py") and file not in program.examples():
        why = _NOT_IMPORTED.get(Path(source).suffix, "is not a folder")
        raise StepError(
            f"{source} {why}: give path.py:function, a folder with config.json and files of "
            f"safetensors, a config.json alone, or a file.onnx"
        )
    try:
        made, name = program.call(source, pairs(settings, "--set"))
    except StepError as error:
        if isinstance(error.__cause__, ModuleNotFoundError) and error.__cause__.name == "torch":
            needed.torch()
        raise
    if isinstance(made, Model):
        return Imported(made, name, {})
    module, example = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    if not any(kind.__module__.partition(".")[0] == "torch" for kind in type(module).__mro__):
        raise StepError(
            f"{name} must return a module, or a module and example inputs, not "
            f"{type(module).__name__}"
        )
    return imported(module, example, {TOKENS: (1, tokens or 1024)}, origin=name)


def _at_most(model: Model, tokens: int | None) -> Model:
    """A model whose runs have at most so many tokens, within its longest context."""
    from dataclasses import replace

    return model if tokens is None else replace(model, tokens=(1, min(tokens, model.tokens[1])))
