"""The kinds of units, one room each: parameters, cycle model and circuit."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path


@cache
def load_all() -> tuple[str, ...]:
    """Make all of stepgen's own kinds known, and return their names."""
    rooms = sorted(path.parent.name for path in Path(__file__).parent.glob("*/params.py"))
    for room in rooms:
        importlib.import_module(f"{__name__}.{room}.params")
    return tuple(rooms)
