"""The line of the user's own code that is being executed."""

from __future__ import annotations

import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_SHIPPED = _PACKAGE / "_shipped"


def user_line() -> str:
    """``file.py:12`` of the innermost frame outside stepgen; shipped examples count as outside."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def _is_ours(filename: str) -> bool:
    return filename.startswith(f"{_PACKAGE}/") and not filename.startswith(f"{_SHIPPED}/")
