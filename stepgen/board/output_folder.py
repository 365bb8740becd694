"""The folder of `stepgen build`: what was made for a board, at the place that the user names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from stepgen.board.description import Board
from stepgen.ir.errors import StepError
from stepgen.program.design_folder import content_hash
from stepgen.tools.atomic import atomic_folder
from stepgen.tools.cache import MADE

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
    """The record of a folder, if its files were made with this key and are unchanged."""
    with suppress(*DAMAGED):
        record: dict[str, Any] = json.loads((folder / MADE).read_text(encoding="utf-8"))
        if record["key"] == key and all(
            content_of(folder / name) == wanted for name, wanted in record["files"].items()
        ):
            return record
    return None


def content_of(path: Path) -> str:
    """Hash of a file."""
    return content_hash(path.read_bytes())


def check_place(folder: Path, board: Board) -> None:
    """Check that what `saving` replaces is what it has written.

    Raises
    ------
    StepError
        If the folder for a board holds something else, or what was changed since.
    """
    place = folder / board.key
    if not place.is_dir() and (place.exists() or place.is_symlink()):
        raise StepError(f"can't write {place}: it is not a folder")
    if place.is_dir() and any(place.iterdir()) and not (place / MADE).is_file():
        raise StepError(
            f"can't write {place}: it was not written by stepgen build: name another folder"
        )
    for name, wanted in _listed(place).items():
        try:
            same = content_of(place / name) == wanted
        except OSError as error:
            raise StepError(f"can't read {place / name}: {error.strerror}") from None
        if not same:
            raise StepError(
                f"can't write {place / name}: it was changed since stepgen build wrote it: remove "
                f"it, or name another folder"
            )


@contextmanager
def saving(made: Made, folder: Path) -> Iterator[Path]:
    """Put all that was made for a board into a folder, under the board's name.

    The files are there, in a folder of their own, when the block begins, and move to their places
    when it ends without an error: a full disk raises before the block changes the old ones.

    Parameters
    ----------
    made : Made
    folder : Path

    Yields
    ------
    Path
        The folder of the board in it.

    Raises
    ------
    StepError
        If it can't be written.
    """
    place = folder / made.board.key
    if place == made.folder:
        yield place
        return
    there = folder.exists()
    files = {MADE, *_listed(made.folder)}  # what others have put beside them stays there
    before = _listed(place).keys()
    old = before - files
    try:
        with atomic_folder(place, anew=files | old, last=MADE, gone=old) as partial:
            for name in sorted(files):
                # Not copied by the system, whose errors name the file that is read.
                content = (made.folder / name).read_bytes()
                if name not in {MADE, *before}:
                    _check_unlisted(place / name, content)
                (partial / name).write_bytes(content)
            yield place
    finally:
        if not there:
            with suppress(OSError):
                folder.rmdir()  # which an error has left empty


def _check_unlisted(path: Path, content: bytes) -> None:
    """Check that an unrecorded file does not exist, or has the same content."""
    if path.exists() and not (path.is_file() and path.read_bytes() == content):
        raise StepError(
            f"can't write {path}: it is not as stepgen build would write it, and no record of it "
            f"is in {MADE} there: remove it, or name another folder"
        )


def _listed(place: Path) -> dict[str, str]:
    """Files that an earlier build has left, with the hashes that it wrote down."""
    with suppress(*DAMAGED):
        names = json.loads((place / MADE).read_text(encoding="utf-8"))["files"]
        return {
            name: wanted
            for name, wanted in names.items()
            if Path(name).name == name and (place / name).is_file()
        }
    return {}
