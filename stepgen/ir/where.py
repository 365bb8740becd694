"""The current line of the user's code, for messages."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TypeVar

_PACKAGE = f"{Path(__file__).resolve().parents[1]}/"
_SHIPPED = f"{_PACKAGE}_shipped/"

T = TypeVar("T")


def user_line(inside: object = None) -> str:
    """``file.py:12`` of the innermost frame outside stepgen; shipped examples count as outside.

    Within a call by `placed` it is the given place, unless that calls the user's code in turn.

    Parameters
    ----------
    inside : object, optional
        Methods of this object do not count as outside, also if its class is the user's own.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and (_is_ours(frame) or _is_of(frame, inside)):
        if frame.f_code is placed.__code__:
            return str(frame.f_locals["place"])
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def users_line(error: BaseException) -> str | None:
    """``file.py:12`` of the innermost line of the user's that an error passed; None without one.

    Lines of numpy are not the user's.
    """
    found = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = str(frame.f_globals.get("__name__"))
        if not _is_ours(frame) and name.partition(".")[0] not in ("numpy", "ml_dtypes"):
            found = f"{Path(frame.f_code.co_filename).name}:{line}"
    return found


def module_frame() -> FrameType:
    """The innermost frame that runs the body of a module, such as the file of a class."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return frame


def placed(place: str, call: Callable[[], T]) -> T:
    """Call a function for a user's input that is not Python: a file, or a command line.

    Parameters
    ----------
    place : str
        Shown in messages instead of the user's line.
    call : callable
        The function.
    """
    return call()


def _is_of(frame: FrameType, inside: object) -> bool:
    return inside is not None and frame.f_locals.get("self") is inside


def _is_ours(frame: FrameType) -> bool:
    if frame.f_globals.get("__name__") == "abc":  # a class is being defined
        return True
    filename = frame.f_code.co_filename
    if filename == "<string>" and frame.f_code.co_name == "__init__":  # made by `dataclasses`
        return True
    return filename.startswith(_PACKAGE) and not filename.startswith(_SHIPPED)
