"""Finds modules and classes of a package by file name, and names users' own classes."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Mapping
from functools import cache
from types import ModuleType
from typing import Any, TypeVar

from stepgen.ir.class_checks import check_class
from stepgen.ir.errors import StepError
from stepgen.ir.names import identifier
from stepgen.ir.where import user_line

T = TypeVar("T")

ONES_OWN = "one of your own is known once its module is imported, as by --import FILE.py"
"""What to say where something is asked for by a name that is not known."""


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


def name_of(kind: type, what: str, known: Mapping[str, type]) -> str:
    """The name under which a new class is registered: its own in snake_case.

    Parameters
    ----------
    kind : type
        The class.
    what : str
        Its category, for messages.
    known : mapping of str to type
        Registered classes by name.

    Raises
    ------
    StepError
        If it lacks a method, `check_class` refuses it, or another class has its name.
    """
    subject = f"the {what} {kind.__name__} at {user_line()}"
    lacking = [name for name, value in inspect.getmembers(kind) if _is_abstract(value)]
    if lacking:
        raise StepError(f"{subject} lacks {', '.join(lacking)}")
    check_class(kind, subject)
    # RowMax is row_max, and RMSNorm is rms_norm.
    cut = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
    name = identifier(re.sub(cut, "_", kind.__name__).lower(), f"the name of {subject}")
    check_free(kind, what, name, known)
    return name


def check_free(kind: type, what: str, name: str, known: Mapping[str, type]) -> None:
    """Check that no other class has the name of one that is being defined.

    Raises
    ------
    StepError
        If one has.
    """
    other = known.get(name)
    if other is not None and _place(other) != _place(kind):
        raise StepError(
            f"the {what} {kind.__name__} at {user_line()} would be called {name}, as "
            f"{other.__qualname__} of {other.__module__} is"
        )


def _is_abstract(value: Any) -> bool:
    return bool(getattr(value, "__isabstractmethod__", False))


def _place(kind: type) -> tuple[str, str]:
    """File and name of a class: a module that is imported again defines the same class again."""
    module = sys.modules.get(kind.__module__)
    return getattr(module, "__file__", None) or kind.__module__, kind.__qualname__
