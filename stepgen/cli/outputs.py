"""Files of commands; outputs are checked before the work begins."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

INPUT = click.Path(path_type=Path, readable=False)
"""Type of an option that names an input; what reads it says what is wrong with it."""

NAME = click.Path(readable=False)
"""Type of what is a name or a file; a shell completes files."""


class Output(click.Path):
    """Type of an option that names an output.

    Parameters
    ----------
    *suffixes : str
        Suffixes that the file may have; none for a folder.
    """

    def __init__(self, *suffixes: str) -> None:
        super().__init__(path_type=Path, readable=False)
        self.suffixes = suffixes


def check(values: Mapping[str, Any], parameters: Iterable[click.Parameter]) -> list[Path]:
    """Check the outputs of a command.

    Parameters
    ----------
    values : mapping of str to object
        All options of the command.
    parameters : iterable of click.Parameter
        What they are.

    Returns
    -------
    list of Path
        The inputs, which the command must not overwrite.

    Raises
    ------
    StepError
        If an output has another suffix, is a device or an input, or is given twice.
    """
    from stepgen.ir.errors import StepError
    from stepgen.tools.atomic import check_place, same_file

    inputs: list[Path] = []
    places: dict[str, tuple[Path, Output]] = {}
    for parameter in parameters:
        value, kind = values.get(str(parameter.name)), parameter.type
        if isinstance(parameter, click.Argument):
            inputs += [Path(part) for part in _paths(str(value or ""))]
        elif isinstance(kind, Output) and kind.suffixes and value is not None:
            places[parameter.opts[-1]] = value, kind
        elif isinstance(value, Path):
            inputs.append(value)
        elif kind is INPUT and isinstance(value, tuple):
            inputs += value
    taken: dict[str, Path] = {}
    for option, (path, output) in places.items():
        if path.suffix not in output.suffixes:
            ends = " or ".join(output.suffixes)
            raise StepError(f"{option} is a file that ends in {ends}, not {path}")
        check_place(path, inputs)
        for other, its in taken.items():
            if same_file(path, its):
                raise StepError(f"{option} and {other} are the same file, {path}")
        taken[option] = path
    return inputs


def _paths(program: str) -> Iterable[str | Path]:
    """The files of a program or machine, with or without the name of a function."""
    if os.path.isdir(program):
        from stepgen.program.design_folder import listed
        from stepgen.program.program import folder_of

        folder = folder_of(program)
        return [] if folder is None else listed(folder)
    place = program.rpartition(":")[0]
    return [text for text in (program, place) if text.endswith((".py", ".json", ".stepgen"))]
