"""The kinds of units, one room each: parameters, cycle model and circuit."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache


@cache
def load_all() -> None:
    """Make all of stepgen's own kinds known."""
    for room in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{room.name}.params")
