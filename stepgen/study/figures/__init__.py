"""The figures, one module each, found by their files."""

from __future__ import annotations

import importlib
import pkgutil

from stepgen.study.figure import Figure


def figures() -> dict[str, Figure]:
    """All figures by name, numbers first."""
    modules = [m.name for m in pkgutil.iter_modules(__path__)]
    found = [importlib.import_module(f"{__name__}.{name}") for name in modules]
    made = {m.FIGURE.name: m.FIGURE for m in found if hasattr(m, "FIGURE")}
    return dict(sorted(made.items(), key=lambda i: (not i[0].isdecimal(), i[0].zfill(3))))
