"""What compiled code is made from: a function with all constants and functions that it uses.

A compiler that looks at the time stamp of a function's own file runs stale code after a change in
another one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

_FOREIGN = ("builtins", "numpy")
"""Modules whose functions and types are known by their names."""


def fingerprint(
    function: Callable[..., Any], replaced: Collection[FunctionType] = ()
) -> str | None:
    """A name for what a function is compiled from.

    Parameters
    ----------
    function : function
    replaced : collection of functions
        In whose place the compiler puts code of its own.

    Returns
    -------
    str or None
        None if it uses something else than numbers, texts, tuples and functions.
    """
    found = hashlib.sha256()
    try:
        for text in _texts(function, {*replaced}):
            found.update(text.encode() + b"\0")
    except TypeError:
        return None
    return found.hexdigest()[:32]


def _texts(value: Any, seen: set[FunctionType]) -> Iterator[str]:
    """Texts that differ between values which compile to different code."""
    if value is None or isinstance(value, bool | int | float | str):
        yield repr(value)
    elif isinstance(value, frozenset):
        yield from sorted(text for item in value for text in _texts(item, seen))
    elif isinstance(value, tuple):
        yield f"{getattr(value, '_fields', '')} of {len(value)}"
        for item in value:
            yield from _texts(item, seen)
    elif isinstance(value, FunctionType):
        if value not in seen:  # others are known
            seen.add(value)
            yield from _of_function(value, seen)
    elif getattr(value, "__module__", None) in _FOREIGN and isinstance(
        value, type | BuiltinFunctionType
    ):
        yield value.__qualname__
    else:
        raise TypeError


def _of_function(function: FunctionType, seen: set[FunctionType]) -> Iterator[str]:
    yield from _of_code(function.__code__, function.__globals__, seen)
    yield from _texts(function.__defaults__, seen)
    for cell in function.__closure__ or ():
        yield from _texts(cell.cell_contents, seen)


def _of_code(code: CodeType, known: dict[str, Any], seen: set[FunctionType]) -> Iterator[str]:
    yield f"{code.co_code.hex()} {code.co_names} {code.co_argcount} {code.co_varnames}"
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _of_code(constant, known, seen)
        else:
            yield from _texts(constant, seen)
    for name in code.co_names:
        if name not in known:  # a builtin, or an attribute of what is known
            continue
        if isinstance(known[name], ModuleType):
            for attribute in code.co_names:
                if hasattr(known[name], attribute):
                    yield from _texts(getattr(known[name], attribute), seen)
        else:
            yield from _texts(known[name], seen)
