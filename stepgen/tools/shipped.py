"""Files that ship with stepgen."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from stepgen.ir.errors import StepError


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


def settings(path: Path, name: str) -> dict[str, Any]:
    """Content of a TOML file that ships with stepgen, or that a user has put beside those.

    Parameters
    ----------
    path : Path
        From `shipped`.
    name : str
        For messages.

    Raises
    ------
    StepError
        If it can't be read.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise StepError(f"{name} is not UTF-8: {error}") from None
    except OSError as error:
        raise StepError(f"{name} can't be read: {error.strerror}") from None
    except RecursionError:
        raise StepError(f"{name} is nested too deeply") from None
    except ValueError as error:
        raise StepError(f"{name} is not TOML: {error}") from None
