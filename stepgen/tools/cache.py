"""The cache: where it lies, keys of its entries, and what is kept."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import platformdirs

from stepgen.ir.errors import StepError


def cache_folder() -> Path:
    """The cache folder: ``$STEPGEN_CACHE``, else stepgen's in the user's cache folder."""
    own = os.environ.get("STEPGEN_CACHE")
    return Path(own) if own else platformdirs.user_cache_path("stepgen", appauthor=False)


def digest(*parts: str | bytes) -> str:
    """Hexadecimal hash of everything that determines a result."""
    h = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        h.update(len(data).to_bytes(8, "little"))
        h.update(data)
    return h.hexdigest()[:20]


def prune(folder: Path, keep: int) -> None:
    """Remove all but the `keep` subfolders of `folder` that were used last."""

    def used(path: Path) -> float:
        try:
            return path.stat().st_mtime
        except OSError:
            return 0.0

    entries = sorted((p for p in folder.iterdir() if p.is_dir()), key=used, reverse=True)
    for old in entries[keep:]:
        shutil.rmtree(old, ignore_errors=True)


MADE = "made.json"
"""The file with the record of an entry."""


def kept(
    folder: Path, key: str, make: Callable[[Path], dict[str, object]], *, keep: int
) -> dict[str, object]:
    """An entry of the cache; it appears there as a whole, and is made anew where it is damaged.

    Parameters
    ----------
    folder : Path
        Its place, which names all that it is made from.
    key : str
        Written into its record.
    make : function of a folder
        Fills it; what it returns goes into the record.
    keep : int
        Entries beside it that stay.

    Returns
    -------
    dict
        The record, and whether it was ``there``.

    Raises
    ------
    StepError
        If the cache can't be written.
    """
    found = _found(folder)
    if found is not None:
        with suppress(OSError):  # a cache that is only read
            os.utime(folder)
        return {**found, "there": True}
    try:
        return {**_made(folder, key, make, keep), "there": False}
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise StepError(
            f"can't write the cache {cache_folder()}: {error.strerror}: STEPGEN_CACHE names "
            f"another folder for it"
        ) from None


def kept_file(target: Path, make: Callable[[Path], None]) -> Path:
    """A file of the cache; it appears there as a whole, and is made anew where it is damaged.

    Parameters
    ----------
    target : Path
        Its place, which names all that it is made from; its hash lies beside it.
    make : function of a path
        Writes it there.

    Returns
    -------
    Path
        `target`.
    """
    checksum = target.with_name(f"{target.name}.sha256")
    with suppress(OSError):
        if checksum.read_bytes() == _hash(target).encode():
            return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        made, beside = Path(folder) / target.name, Path(folder) / checksum.name
        make(made)
        beside.write_text(_hash(made), encoding="ascii")
        os.replace(made, target)
        os.replace(beside, checksum)
    return target


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES)
"""Errors of a folder that can't be written."""


def _made(
    folder: Path, key: str, make: Callable[[Path], dict[str, object]], keep: int
) -> dict[str, Any]:
    """Make an entry."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    prune(folder.parent, keep)
    place = Path(tempfile.mkdtemp(prefix=".making-", dir=folder.parent))
    try:
        record = make(place)
        files = [path for path in place.rglob("*") if path.is_file()]
        hashes = {path.relative_to(place).as_posix(): _hash(path) for path in files}
        record = {**record, "key": key, "hashes": hashes}
        (place / MADE).write_text(json.dumps(record), encoding="utf-8")
        try:
            place.rename(folder)
        except OSError:  # another process has made the same meanwhile, or it is damaged
            if _found(folder) is None:
                shutil.rmtree(folder)
                place.rename(folder)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    made: dict[str, Any] = json.loads((folder / MADE).read_text(encoding="utf-8"))
    return made


def _found(folder: Path) -> dict[str, object] | None:
    """The record of an entry, if all its files are there as they were made."""
    with suppress(OSError, ValueError, AttributeError, LookupError, TypeError, RecursionError):
        entry: dict[str, Any] = json.loads((folder / MADE).read_text(encoding="utf-8"))
        if all(_hash(folder / name) == made for name, made in entry["hashes"].items()):
            return entry
    return None
