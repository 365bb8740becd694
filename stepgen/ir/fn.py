"""Functions by name; for type checkers and editors there is ``fn.pyi``, which is generated."""

from __future__ import annotations

from typing import Any

from stepgen.ir.absent import remedy
from stepgen.ir.docstrings import about
from stepgen.ir.function import function_types, kind_of, maker


def _listed(functions: Functions) -> str:
    """For `help`: every function with the first line of its docstring."""
    width = max(map(len, dir(functions)))
    lines = [
        f"{name:{width}}  {(about(kind).splitlines() or [''])[0]}".rstrip()
        for name, kind in function_types().items()
    ]
    return "\n".join(["Every function by its name, also users' own.", "", *lines])


class Functions:
    __doc__ = property(_listed)  # made when asked for: users' own functions are in it

    def __repr__(self) -> str:
        return "sg.fn"

    def __getattr__(self, name: str) -> Any:
        kind = None if name.startswith("_") else kind_of(name)
        if kind is None:
            hint = remedy(name, function_types(), functions=False)
            raise AttributeError(f"there is no function {name!r}{hint}")
        made = maker(kind)
        made.__doc__ = about(kind)
        return made

    def __dir__(self) -> list[str]:
        return list(function_types())


fn = Functions()
"""The functions: ``fn.add()``, ``fn.scale(0.5)``."""
