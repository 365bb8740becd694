"""Breaks this process: functions get the code of another source. Nothing on disk changes."""

from __future__ import annotations

import builtins
import gc
import importlib
import os
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any


def interpret() -> None:
    """Have Python run all steps.

    So a broken cycle model costs no compiling, and what reads beyond its arrays raises an error.
    """
    os.environ["NUMBA_DISABLE_JIT"] = "1"


def change(path: str, source: str) -> int:
    """Give the functions of a file, below the repository, the code of another source.

    Returns
    -------
    int
        How many functions have changed.

    Raises
    ------
    SyntaxError
        If the source is none.
    """
    from stepgen.emit import modules

    module = importlib.import_module(path.removesuffix(".py").replace("/", "."))
    assert module.__file__ is not None
    codes = dict(_codes(compile(source, module.__file__, "exec", dont_inherit=True)))
    changed = 0
    gc.unfreeze()  # the tests freeze what they have imported, and frozen objects are not listed
    for function in gc.get_objects():
        if type(function) is not FunctionType:  # its class may be that of a dead proxy
            continue
        old = function.__code__
        new = codes.get(old.co_qualname)
        if old.co_filename == module.__file__ and new is not None and new != old:
            function.__code__ = new
            changed += 1
    modules.circuits = lambda: None  # what the files say is not what this process has
    builtins.one_later = _one_later  # type: ignore[attr-defined]
    return changed


def _codes(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant.co_qualname, constant
            yield from _codes(constant)


def _one_later(m: Any, value: Any) -> Any:
    """A value one cycle late, for the text of mutants."""
    from amaranth.hdl import Value

    from stepgen.hw.primitives import delayed

    return delayed(m, Value.cast(value), 1)
