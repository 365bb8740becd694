"""Finding what lives in a package, one thing per file, by the name of the file."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType
from typing import TypeVar

T = TypeVar("T")


@cache
def modules(package: str) -> dict[str, ModuleType]:
    """Every public module of a package, by its name.

    Parameters
    ----------
    package : str
        Dotted name of the package.
    """
    root = importlib.import_module(package)
    return {
        info.name: importlib.import_module(f"{package}.{info.name}")
        for info in sorted(pkgutil.iter_modules(root.__path__), key=lambda info: info.name)
        if not info.name.startswith("_")
    }


def classes(package: str, base: type[T]) -> dict[str, type[T]]:
    """The one subclass of `base` that each module of a package defines, by module name.

    Raises
    ------
    TypeError
        If a module defines none or several.
    """
    return {name: the_one(module, base) for name, module in modules(package).items()}


def the_one(module: ModuleType, base: type[T]) -> type[T]:
    """The one subclass of `base` that a module defines.

    Raises
    ------
    TypeError
        If it defines none or several.
    """
    mine = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, base)
        and value.__module__ == module.__name__
    ]
    if len(mine) != 1:
        raise TypeError(f"{module.__name__} must define one {base.__name__}, not {len(mine)}")
    return mine[0]
