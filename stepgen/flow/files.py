"""Paths of the files that ship with stepgen, and of its cache."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from ..ir.errors import StepError


def shipped(name: str) -> Path:
    """Path of a file or folder that ships with stepgen.

    Parameters
    ----------
    name : str
        Relative to the root of the project: ``"templates"``, ``"sim/verilator/axi_memory.sv"``.

    Raises
    ------
    StepError
        Where the installation is incomplete.
    """
    package = Path(__file__).resolve().parent.parent
    for root in (package / "_shipped", package.parent):
        if (root / name).exists():
            return root / name
    raise StepError(f"this installation of stepgen lacks {name}; install it again")


def cache_folder() -> Path:
    """The cache folder: ``$STEPGEN_CACHE``, else stepgen's in the user's cache folder."""
    own = os.environ.get("STEPGEN_CACHE")
    return Path(own) if own else platformdirs.user_cache_path("stepgen", appauthor=False)
