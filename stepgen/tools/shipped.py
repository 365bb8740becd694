"""Files that ship with stepgen."""

from __future__ import annotations

from pathlib import Path

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
