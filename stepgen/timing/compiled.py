"""Cache of the code that numba compiles, one folder per version of the sources.

Numba only checks the time stamp of a function's own file. Constants and inlined functions of other
files are compiled in, so after a change there stale code would run on new records.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
import warnings
from pathlib import Path

import numba
from numba.core import event
from numba.core.errors import NumbaExperimentalFeatureWarning

from .watch import watcher

KEPT = 3
"""Versions of the sources whose compiled code is kept."""
IN_USE = 3600.0
"""Seconds for which another process may still use the code of another version."""


def use_cache_folder() -> None:
    """Set numba's cache folder: beside the sources, one for each version of them.

    If the sources are read-only they don't change, and numba's default folder is used.
    """
    here = Path(__file__).resolve().parent
    if not os.access(here, os.W_OK) or os.environ.get("NUMBA_CACHE_DIR"):
        return
    units = here.parent / "hw" / "units"
    sources = [*here.rglob("*.py"), *units.rglob("model.py"), *units.rglob("params.py")]
    sources += [here.parent / "ir" / name for name in ("stalls.py", "wire.py")]
    texts = (path.read_bytes() for path in sorted(sources))
    state = hashlib.sha256(b"\0".join(texts)).hexdigest()[:16]
    folder = here / "__pycache__" / f"compiled-{state}"
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        _drop_old(folder.parent)
    os.utime(folder)
    numba.config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]


class _Listener(event.Listener):
    """Counts compiled functions, i.e. those that were not cached, and the ones that they call."""

    def __init__(self) -> None:
        self.count = 0

    def on_start(self, event: event.Event) -> None:
        watcher().compiles(self.count)

    def on_end(self, event: event.Event) -> None:
        self.count += 1
        watcher().compiles(self.count)


def report_progress() -> None:
    """From now on, report to watchers when something is compiled."""
    event.register("numba:compile", _Listener())  # type: ignore[no-untyped-call]


def allow_first_class_functions() -> None:
    """Kernels call step functions that they are given, which numba calls experimental."""
    warnings.filterwarnings("ignore", category=NumbaExperimentalFeatureWarning)


def _drop_old(parent: Path) -> None:
    """Remove code of versions that have not been used lately."""
    used: dict[Path, float] = {}
    for folder in parent.glob("compiled-*"):
        # Another process may remove the same folders.
        with contextlib.suppress(FileNotFoundError):
            used[folder] = folder.stat().st_mtime
    for old in sorted(used, key=used.__getitem__)[:-KEPT]:
        if used[old] < time.time() - IN_USE:
            shutil.rmtree(old, ignore_errors=True)
