"""The kinds of units, one package each: parameters, cycle model and circuit."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path


@cache
def load_all() -> tuple[str, ...]:
    """Register all of stepgen's own kinds, and return their names."""
    names = sorted(path.parent.name for path in Path(__file__).parent.glob("*/params.py"))
    for name in names:
        importlib.import_module(f"{__name__}.{name}.params")
    return tuple(names)
