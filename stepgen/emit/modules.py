"""Modules and Verilog of earlier designs, kept in the cache folder.

Most designs have units that others had, and many are written again as they were.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from stepgen.hw.sources import sources
from stepgen.tools.cache import cache_folder, digest, prune

KEEP_VERSIONS = 3
"""Versions of stepgen whose modules stay."""
KEEP_MODULES = 20_000
"""Modules of one version that stay at most."""
KEEP_TEXTS = 300
"""Texts in Verilog likewise."""

_LOADED = time.time()


class Modules:
    """What `stepgen.hw.library.Kept` asks for, as files.

    Parameters
    ----------
    folder : Path
        For one version of all that makes modules.
    most : int
        Files after which the older half goes.
    """

    def __init__(self, folder: Path, most: int = KEEP_MODULES):
        self.folder = folder
        self.most = most
        self._more = 0

    def get(self, key: str) -> dict[str, Any] | None:
        """A module that was put there, by this process or another one."""
        try:
            hashed, _, content = self._file(key).read_bytes().partition(b"\n")
        except OSError:
            return None
        if hashed != digest(key, content).encode():  # it is damaged
            return None
        module: dict[str, Any] = json.loads(content)
        return module

    def put(self, key: str, module: dict[str, Any]) -> None:
        """Keep a module; where it can't be written, it isn't kept."""
        with suppress(OSError):
            if not self._more % 1000:
                self._make_room()
            self._more += 1
            with tempfile.TemporaryDirectory(dir=self.folder) as place:
                file, content = Path(place) / "module", json.dumps(module)
                file.write_text(f"{digest(key, content)}\n{content}", encoding="utf-8")
                os.replace(file, self._file(key))

    def text(self, key: str, make: Callable[[], str]) -> str:
        """A text that was made with this key before, or now."""
        texts, short = Modules(self.folder / "verilog", KEEP_TEXTS), digest(key)
        found = texts.get(short)
        if found is None:
            found = {"text": make()}
            texts.put(short, found)
        return str(found["text"])

    def _file(self, key: str) -> Path:
        return self.folder / f"{digest(key)}.json"

    def _make_room(self) -> None:
        if not self.folder.exists():
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            prune(self.folder.parent, KEEP_VERSIONS - 1)
            self.folder.mkdir(exist_ok=True)
        files = list(self.folder.glob("*.json"))
        if len(files) > self.most:
            for file in sorted(files, key=lambda f: f.stat().st_mtime)[: len(files) // 2]:
                file.unlink(missing_ok=True)


@cache
def circuits() -> str | None:
    """Hash of all that makes modules; None if files are newer than what this process has loaded."""
    files = sources()
    if max(file.stat().st_mtime for file in files) >= _LOADED:
        return None
    return digest(version("amaranth"), *(file.read_bytes() for file in files))


def kept_modules() -> Modules | None:
    """The modules that this version of stepgen has made; None if its version is unknown."""
    found = circuits()
    return Modules(cache_folder() / "modules" / found) if found else None
