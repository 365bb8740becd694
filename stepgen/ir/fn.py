"""The functions by name; type checkers and editors read ``fn.pyi``, which is generated."""

from __future__ import annotations

from typing import Any

from stepgen.ir.function import function_types, maker


class Functions:
    """``sg.fn``: every function under its name, also those of users' own."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in function_types():
            raise AttributeError(f"there is no function {name!r}")
        return maker(function_types()[name])

    def __dir__(self) -> list[str]:
        return list(function_types())


fn = Functions()
"""The functions: ``fn.add()``, ``fn.scale(0.5)``."""
