"""Checks of classes of users, where they are defined: attributes and methods."""

from __future__ import annotations

import functools
import inspect
import sys
import typing
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, ClassVar

from stepgen.ir.arguments import Unfit, fit, shown
from stepgen.ir.errors import StepError
from stepgen.ir.where import module_frame

MOST_TILES = 8
"""Most operands with which a method that takes any number of them is tried."""


def check_class(kind: type, what: str) -> None:
    """Check what a class says against its base classes; sequences become tuples.

    Parameters
    ----------
    kind : type
        The class, while it is defined.
    what : str
        The class and its line: the beginning of messages.

    Raises
    ------
    StepError
        If an attribute has another type than in a base class or no annotation, a method takes other
        arguments, or the file defines a class of this name twice.
    """
    _check_once(kind, what)
    own = vars(kind).get("__annotations__", {})
    for name, value in [*vars(kind).items()]:
        if name.startswith("_"):
            continue
        base = next((cls for cls in kind.__mro__[1:] if name in _names(cls)), None)
        is_field = name in own and "ClassVar" not in str(own[name])
        if base is None:
            if name not in own and not hasattr(value, "__get__") and name.islower():
                raise StepError(
                    f"{what}: {name} has no annotation: write {name}: {type(value).__name__} = "
                    f"{shown(value)} if it is a parameter, {name}: ClassVar = ... if it is not"
                )
            continue
        above = vars(base).get(name)
        if isinstance(above, FunctionType):
            _check_method(kind, name, value, above, what)
        elif not hasattr(value, "__get__") or name == "model":
            hint = _hint(base, name)
            if is_field and hint is not None and not isinstance(above, property):
                raise StepError(
                    f"{what}: {name} is the same for all and no parameter: write {name} = "
                    f"{shown(value)}, without an annotation"
                )
            if hint is not None and not is_field:
                setattr(kind, name, _fitting(value, hint, name, what))


def check_signature(function: FunctionType, what: str, *wanted: str) -> None:
    """Check that a function can be called with so many arguments.

    Raises
    ------
    StepError
        If it can't.
    """
    if not _takes(function, len(wanted)):
        raise StepError(
            f"{what} must take ({', '.join(wanted)}), not {_parameters(function)}, at "
            f"{place(function.__code__)}"
        )


def place(code: CodeType) -> str:
    """``file.py:12`` of a function."""
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}"


def _names(cls: type) -> set[str]:
    return {*vars(cls), *vars(cls).get("__annotations__", {})}


def _check_once(kind: type, what: str) -> None:
    module = sys.modules.get(kind.__module__)
    if not isinstance(vars(module).get(kind.__name__) if module else None, type):
        return
    frame = module_frame()
    if frame.f_globals.get("__name__") != kind.__module__:
        return
    bodies = [
        code
        for code in frame.f_code.co_consts
        if isinstance(code, CodeType) and code.co_name == kind.__name__
    ]
    if len(bodies) > 1:  # a file that is imported again has one
        raise StepError(
            f"{what}: there is a class of this name at {place(bodies[0])} already: rename one"
        )


def _check_method(kind: type, name: str, value: Any, above: FunctionType, what: str) -> None:
    wanted = [p for p in inspect.signature(above).parameters.values() if p.kind != p.VAR_KEYWORD]
    some = "(" + ", ".join(map(_named, wanted)) + ")"
    if not isinstance(value, FunctionType):
        raise StepError(f"{what}: {name} must be a method that takes {some}, not {shown(value)}")
    fixed = [p for p in wanted if p.kind not in (p.VAR_POSITIONAL, p.KEYWORD_ONLY)]
    tiles = range(1, MOST_TILES) if len(fixed) < len(wanted) else range(1)
    if not any(_takes(value, len(fixed) + more) for more in tiles):
        raise StepError(
            f"{kind.__name__}.{name} at {place(value.__code__)} must take {some}, not "
            f"{_parameters(value)}"
        )


def _named(parameter: inspect.Parameter) -> str:
    return f"*{parameter.name}" if parameter.kind is parameter.VAR_POSITIONAL else parameter.name


@functools.cache
def _takes(function: FunctionType, count: int) -> bool:
    signature = inspect.signature(function)
    needed = [
        key
        for key, p in signature.parameters.items()
        if p.kind is p.KEYWORD_ONLY and p.default is p.empty
    ]
    try:
        signature.bind(*[None] * count, **dict.fromkeys(needed))
    except TypeError:
        return False
    return True


def _parameters(function: FunctionType) -> str:
    return "(" + ", ".join(map(_named, inspect.signature(function).parameters.values())) + ")"


def _hint(base: type, name: str) -> Any:
    """The type of an attribute in the class that declares it; None if it is not declared."""
    above = vars(base).get(name)
    if isinstance(above, property):
        return typing.get_type_hints(above.fget).get("return")
    written = vars(base).get("__annotations__", {}).get(name)
    if isinstance(written, str):
        written = eval(written, vars(sys.modules[base.__module__]))
    return typing.get_args(written)[0] if typing.get_origin(written) is ClassVar else None


def _fitting(value: Any, hint: Any, name: str, what: str) -> Any:
    try:
        return fit(value, hint)
    except Unfit as unfit:
        more, items = "", typing.get_args(hint)
        if typing.get_origin(hint) is tuple and items[1:] == (...,):
            with suppress(Unfit):
                more = f": write {name} = ({fit(value, items[0])!r},)"
        raise StepError(f"{what}: {name} must be {unfit}, not {shown(value)}{more}") from None
