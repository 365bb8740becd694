"""Output files of commands: checked before the work begins."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Output:
    """Marks an option that names an output; every other option with a path names an input.

    Parameters
    ----------
    suffixes : tuple of str
        Suffixes that the file may have; none for a folder.
    """

    suffixes: tuple[str, ...] = ()


def check(values: Mapping[str, Any], outputs: Mapping[str, Output], program: str) -> list[Path]:
    """Check the outputs of a command.

    Parameters
    ----------
    values : mapping of str to object
        All options of the command.
    outputs : mapping of str to Output
        Those that name outputs.
    program : str
        The argument that names a program or machine, if there is one.

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

    inputs = [v for key, v in values.items() if isinstance(v, Path) and key not in outputs]
    inputs += [Path(part) for part in _paths(program)]
    taken: dict[str, Path] = {}
    for key, output in outputs.items():
        option, path = f"--{key.replace('_', '-')}", values.get(key)
        if not isinstance(path, Path) or not output.suffixes:
            continue
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
    return [text for text in (program, place) if text.endswith((".py", ".json"))]
