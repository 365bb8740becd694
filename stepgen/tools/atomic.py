"""Atomic writes: results are written beside their place, then moved there."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import tempfile
import threading
import zlib
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from stepgen.ir.errors import StepError
from stepgen.tools.starting import ENDING

_kept: list[Path] = []


@contextmanager
def keeping(inputs: Iterable[Path]) -> Iterator[None]:
    """Refuse, until the block ends, to overwrite these files, the inputs of the work."""
    inputs = list(inputs)
    _kept.extend(inputs)
    try:
        yield
    finally:
        for path in inputs:
            _kept.remove(path)


def same_file(a: Path, b: Path) -> bool:
    """Whether two paths mean one file, also by links, and also where it is not there yet."""
    with suppress(OSError):
        return a.samefile(b)
    return os.path.realpath(a) == os.path.realpath(b)


def check_place(path: Path, inputs: Iterable[Path] = (), *, kept: bool = True) -> Path:
    """The path to write to: the target of a symlink, if that is a regular file or missing.

    Parameters
    ----------
    path : Path
        Where the file belongs.
    inputs : iterable of Path
        Files that it must not replace.
    kept : bool
        Whether it must not replace those of `keeping` either.

    Raises
    ------
    StepError
        If something else is there, or no file can be made there.
    """
    if path.is_dir():
        raise StepError(f"can't write {path}: it is a folder")
    try:
        real = Path(os.path.realpath(path))
        there = real.exists() or real.is_symlink()
        folder = next(parent for parent in real.parents if parent.exists())
        made = not folder.is_dir() or os.access(folder, os.W_OK | os.X_OK)
    except (OSError, ValueError) as error:
        raise StepError(f"can't write {path}: {error}") from None
    if not made:
        raise StepError(f"can't write {path}: {os.strerror(errno.EACCES)}")
    if not folder.is_dir():
        above = next(parent for parent in path.parents if parent.exists())
        raise StepError(f"can't write {path}: {above} is a file")
    if there and not real.is_file():
        raise StepError(f"can't write {path}: it is not a regular file")
    if there and any(same_file(real, other) for other in (*inputs, *(_kept if kept else ()))):
        raise StepError(f"can't write {path}: it is an input of the same command")
    return real


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Write a file atomically.

    Parameters
    ----------
    path : Path
        Where the file belongs, or a symlink to it; folders that are missing are made.

    Yields
    ------
    Path
        Where to write it, with the same suffix; it is moved to its place if the block ends without
        an error.

    Raises
    ------
    StepError
        If the file can't be written there; what was there before stays.
    """
    _check_parents(path)
    real = check_place(path)
    partial = real.with_name(_partial(path.name) + path.suffix)
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        partial.touch()
        yield partial
        os.replace(partial, real)
    except OSError as error:
        if _is_about(error, real, partial):
            raise _refused(path, error) from None
        raise
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def atomic_folder(
    path: Path, *, anew: Container[str] = (), last: str = "", gone: Iterable[str] = ()
) -> Iterator[Path]:
    """Fill a folder; its entries appear only if the block ends without an error.

    A folder that was missing appears at once, with all its entries. In one that is there each entry
    is replaced atomically, one after the other: Ctrl-C waits until all are there, but a process
    that is killed meanwhile leaves some entries new and others, `last` among them, old.

    Parameters
    ----------
    path : Path
        The folder, which is made where it is missing. In one that is there, only entries of the
        same names are replaced.
    anew : container of str
        Files that may be replaced although they are inputs, since they are made of other inputs.
    last : str
        The file that is replaced after all others.
    gone : iterable of str
        Files in the folder that are removed, before `last` is replaced; of links the links.

    Yields
    ------
    Path
        An empty folder to fill; its entries are moved to their places if the block ends without an
        error.

    Raises
    ------
    StepError
        If the folder can't be written; what was there before stays.
    """
    holder = _holder(path)
    partial = holder / "new"
    try:
        partial.mkdir()  # with the mode of any folder, unlike its holder
        yield partial
        if not _appeared(partial, path):
            targets, removed = _places(partial, path, anew, gone)
            final = targets.pop(partial / last, None)
            with uninterrupted():
                for entry, target in targets.items():
                    if target.is_dir():
                        shutil.rmtree(target)
                    os.replace(entry, target)
                for old in removed:
                    old.unlink(missing_ok=True)
                if final is not None:
                    os.replace(partial / last, final)
    except OSError as error:
        if _is_about(error, path, partial):
            raise _refused(path, error) from None
        raise
    finally:
        shutil.rmtree(holder, ignore_errors=True)


def check_folder(path: Path, entries: Path | None = None, *, gone: Iterable[str] = ()) -> None:
    """Check that a folder can be written, before the work for it begins, or other files change.

    Parameters
    ----------
    path : Path
    entries : Path, optional
        A folder with what will be written.
    gone : iterable of str
        As for `atomic_folder`.

    Raises
    ------
    StepError
        As `atomic_folder` would.
    """
    _holder(path).rmdir()
    if entries is not None:
        _places(entries, path, gone=gone)


def _holder(path: Path) -> Path:
    """A folder beside or in the one that is to be filled."""
    if path.exists() and not path.is_dir():
        raise StepError(f"can't write {path}: it is a file")
    if path.is_symlink() and not path.exists():
        raise StepError(f"can't write {path}: it is a link to nothing")
    _check_parents(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Beside an existing folder there may be no right to write; in it there must be.
        beside = path if path.is_dir() else path.parent
        return Path(tempfile.mkdtemp(prefix=_partial(path.name), dir=beside))
    except OSError as error:
        raise _refused(path, error) from None


def _partial(name: str) -> str:
    """What a result is called while it is written: short, since `name` may be as long as can be."""
    return f".{os.getpid()}-{zlib.crc32(os.fsencode(name)):08x}.part"


def _appeared(partial: Path, path: Path) -> bool:
    """Move a whole folder to its place, if nothing is there."""
    if path.exists() or path.is_symlink():
        return False
    try:
        os.rename(partial, path)
    except OSError:
        if path.is_dir():  # somebody else was faster
            return False
        raise
    return True


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let signals that end a command wait until the block has ended; it must be short."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    arrived: list[int] = []
    before: dict[int, Any] = {}
    try:
        for number in (signal.SIGINT, *ENDING):
            handler = signal.getsignal(number)
            if handler is not None:  # else it was not Python that set it
                before[number] = handler
                signal.signal(number, lambda number, frame: arrived.append(number))
        yield
    finally:
        for back, handler in before.items():
            signal.signal(back, handler)
        if arrived:
            signal.raise_signal(arrived[0])


def _places(
    entries: Path, path: Path, anew: Container[str] = (), gone: Iterable[str] = ()
) -> tuple[dict[Path, Path], list[Path]]:
    """What each entry replaces in a folder, and what is removed there."""
    targets = {
        entry: _target(entry, path / entry.name, kept=entry.name not in anew)
        for entry in sorted(entries.iterdir())
    }
    removed = [path / name for name in gone]
    for old in removed:
        check_place(old, kept=old.name not in anew)
    return targets, removed


def _target(entry: Path, place: Path, *, kept: bool) -> Path:
    """What an entry of a folder replaces: a folder of its name, or a file as `check_place` says."""
    if not entry.is_dir():
        return check_place(place, kept=kept)
    if place.is_symlink() or (place.exists() and not place.is_dir()):
        raise StepError(f"can't write {place}: it is not a folder")
    if place.exists() and not os.access(place, os.W_OK | os.X_OK):
        raise StepError(f"can't write {place}: {os.strerror(errno.EACCES)}")
    if any(place.resolve() in kept.resolve().parents for kept in _kept):
        raise StepError(f"can't write {place}: an input of the same command lies in it")
    return place


def _check_parents(path: Path) -> None:
    """The system's own message would not say which part of the path is wrong."""
    for parent in path.parents:
        if parent.exists() and not parent.is_dir():
            raise StepError(f"can't write {path}: {parent} is a file")


def _is_about(error: OSError, path: Path, partial: Path) -> bool:
    """Whether an error is about a result, not about another file that the block works with."""
    if not isinstance(error.filename, str):
        return True
    name = Path(error.filename)
    return partial in (name, *name.parents) or name in (path, *path.parents)


def _refused(path: Path, error: OSError) -> StepError:
    return StepError(f"can't write {path}: {error.strerror or error}")
