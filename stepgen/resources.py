"""Finds the files that ship beside the code: templates, simulation sources, boards, examples."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def resource(*parts: str) -> Path:
    """Path of a shipped file or folder.

    Parameters
    ----------
    *parts : str
        Path below the project, ``resource("sim", "verilator", "recorder.sv")``.

    Notes
    -----
    In an installed wheel these folders lie inside the package, in a checkout beside it.
    """
    packaged = _PACKAGE / "share"
    return (packaged if packaged.is_dir() else _PACKAGE.parent).joinpath(*parts)
