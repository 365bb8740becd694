"""Results that appear whole or not at all: written beside their place, then moved."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..ir.errors import StepError


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Write a file whole or not at all.

    Parameters
    ----------
    path : Path
        Where the file belongs; folders that are missing are made.

    Yields
    ------
    Path
        Where to write it, with the same suffix; it takes its place when the block ends well.

    Raises
    ------
    StepError
        If the file can't be written there; what was there before stays.
    """
    if path.is_dir():
        raise StepError(f"can't write {path}: it is a folder")
    _check_parents(path)
    partial = path.with_name(f".{os.getpid()}.part.{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.touch()
        yield partial
        os.replace(partial, path)
    except OSError as error:
        raise _refused(path, error) from None
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Fill a folder whole or not at all.

    Parameters
    ----------
    path : Path
        The folder, which is made where it is missing. In one that is there, only entries of the
        same names are replaced.

    Yields
    ------
    Path
        An empty folder to fill; its entries take their places when the block ends well.

    Raises
    ------
    StepError
        If the folder can't be written; what was there before stays.
    """
    if path.exists() and not path.is_dir():
        raise StepError(f"can't write {path}: it is a file")
    _check_parents(path)
    partial: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Beside an existing folder there may be no right to write; in it there must be.
        beside = path if path.is_dir() else path.parent
        partial = Path(tempfile.mkdtemp(prefix=f".{path.name}.part-", dir=beside))
        yield partial
        path.mkdir(exist_ok=True)
        for entry in partial.iterdir():
            target = path / entry.name
            if target.is_dir() and not target.is_symlink():
                shutil.rmtree(target)
            os.replace(entry, target)
    except OSError as error:
        raise _refused(path, error) from None
    finally:
        if partial is not None:
            shutil.rmtree(partial, ignore_errors=True)


def _check_parents(path: Path) -> None:
    """The system's own message would not say which part of the path is wrong."""
    for parent in path.parents:
        if parent.exists() and not parent.is_dir():
            raise StepError(f"can't write {path}: {parent} is a file")


def _refused(path: Path, error: OSError) -> StepError:
    return StepError(f"can't write {path}: {error.strerror or error}")
