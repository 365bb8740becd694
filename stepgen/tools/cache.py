"""The cache: where it lies, keys of its entries, and what is kept."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import platformdirs


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
