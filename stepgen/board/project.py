"""Designs on boards whose bitstreams only Vivado makes: a project for it, kept in the cache."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from stepgen.board.build import KEEP, key_of, name_of, target_of, write_sources
from stepgen.board.description import Board
from stepgen.board.output_folder import content_of, found
from stepgen.hw import private
from stepgen.hw.board.chip import CLOCK, ports
from stepgen.hw.board.top import BoardTop
from stepgen.hw.design.table import Design
from stepgen.ir.errors import StepError
from stepgen.synth import vivado
from stepgen.synth.vivado import BUILD, PROGRAM
from stepgen.tools.cache import cache_folder, kept
from stepgen.tools.shipped import shipped
from stepgen.tools.waiting import Progress, quiet

__all__ = [
    "BUILD",
    "PROGRAM",
    "Project",
    "check_open",
    "command",
    "document",
    "write",
]


@dataclass(frozen=True)
class Project:
    """A project for Vivado.

    Attributes
    ----------
    folder : Path
        Verilog, constraints and scripts.
    board : Board
    there : bool
        Whether it was there already.
    """

    folder: Path
    board: Board
    there: bool


def command(script: Path) -> str:
    """How a script is run."""
    return shlex.join(["vivado", "-mode", "batch", "-source", str(script)])


def check_open(board: Board, program: str) -> None:
    """Refuse a board that no open tools build for.

    Parameters
    ----------
    board : Board
    program : str
        What is to run on it, as the user calls it.

    Raises
    ------
    StepError
        What to run instead.
    """
    if board.vivado:
        place = Path("build") / board.key
        raise StepError(
            f"{board.name} has to be built with Vivado: stepgen build {program} --board "
            f"{board.key} -o build writes the project, {command(place / BUILD)} makes the "
            f"bitstream, and {place / PROGRAM} loads it"
        )


def write(
    design: Design, board: Board, *, earlier: Sequence[Path] = (), progress: Progress = quiet
) -> Project:
    """Write the project of a design, or find it where it was written before.

    Parameters
    ----------
    design : Design
    board : Board
        One with ``vivado``.
    earlier : sequence of Path
        Folders in which it may be, beside the cache.
    progress : Progress

    Raises
    ------
    StepError
        If the board has too little memory for the design.
    """
    name = name_of(design, board)
    templates = sorted(shipped("templates/vivado").iterdir())
    key = key_of(design, board, [path.read_text(encoding="utf-8") for path in templates])
    for place in earlier:
        if found(place, key) is not None:
            return Project(place, board, there=True)

    def make(place: Path) -> dict[str, object]:
        sources = write_sources(place, name, design, board, progress)
        target = target_of(board, design)
        outside = _leave(design, board)
        leaving = [pad for pad in target.pins if pad != CLOCK and outside.get(pad, True)]
        settings = {} if board.vivado is None else asdict(board.vivado)
        files = vivado.project(name, board.name, sources, target, settings, leaving, key)
        for file, text in files.items():
            (place / file).write_text(text, encoding="utf-8")
        hashes = {path.name: content_of(path) for path in sorted(place.iterdir())}
        return {"board": board.key, "files": hashes}

    folder = cache_folder() / "projects" / f"{name}-{key}"
    entry: Mapping[str, Any] = kept(folder, key, make, keep=KEEP)
    progress("project is written", 1.0)
    return Project(folder, board, entry["there"])


def document(made: Project) -> dict[str, Any]:
    """A project, for ``--json``."""
    return {"board": made.board.key, "clock": {"hz": made.board.hz}, "built": not made.there}


def _leave(design: Design, board: Board) -> dict[str, bool]:
    """Whether each port of the board's top is an output."""
    top = BoardTop(design, board.around(design))
    private.reused(top)  # only its ports are looked at
    return {name: out for name, (_, out) in ports(top).items()}
