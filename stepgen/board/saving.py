"""What was made for a board, in a folder of the user's."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from ..ir.errors import StepError
from ..program.design_folder import content_hash
from ..tools.atomic import atomic_folder
from ..tools.cache import MADE
from .description import Board

DAMAGED = (OSError, ValueError, AttributeError, LookupError, TypeError, RecursionError)
"""What reading a file raises that nobody has written so."""


class Made(Protocol):
    """A folder for a board."""

    @property
    def folder(self) -> Path:
        """Where it is."""

    @property
    def board(self) -> Board:
        """What it is for."""


def found(folder: Path, key: str) -> dict[str, Any] | None:
    """What is told of a folder, if it holds what was made from the same, unchanged."""
    with suppress(*DAMAGED):
        told: dict[str, Any] = json.loads((folder / MADE).read_text(encoding="utf-8"))
        if told["key"] == key and all(
            content_of(folder / name) == wanted for name, wanted in told["files"].items()
        ):
            return told
    return None


def content_of(path: Path) -> str:
    """Hash of a file."""
    return content_hash(path.read_bytes())


def check_place(folder: Path, board: Board) -> None:
    """Check that what `save` replaces is what it has written.

    Raises
    ------
    StepError
        If the folder for a board holds something else.
    """
    place = folder / board.key
    if not place.is_dir() and (place.exists() or place.is_symlink()):
        raise StepError(f"can't write {place}: it is no folder")
    if place.is_dir() and any(place.iterdir()) and not (place / MADE).is_file():
        raise StepError(
            f"can't write {place}: it was not written by stepgen build: name another folder"
        )


def save(made: Made, folder: Path) -> Path:
    """Put all that was made for a board into a folder, under the board's name.

    Parameters
    ----------
    made : Made
    folder : Path

    Returns
    -------
    Path
        The folder of the board in it.

    Raises
    ------
    StepError
        If it can't be written.
    """
    place = folder / made.board.key
    if place == made.folder:
        return place
    files = {MADE, *_listed(made.folder)}  # what others have put beside them stays there
    old = _listed(place) - files
    with atomic_folder(place, anew=files | old, last=MADE, gone=old) as partial:
        for name in sorted(files):
            # Not copied by the system, whose errors name the file that is read.
            (partial / name).write_bytes((made.folder / name).read_bytes())
    return place


def _listed(place: Path) -> set[str]:
    """Files that an earlier build has left."""
    with suppress(*DAMAGED):
        names = json.loads((place / MADE).read_text(encoding="utf-8"))["files"]
        return {name for name in names if Path(name).name == name and (place / name).is_file()}
    return set()
