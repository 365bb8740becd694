"""Docstrings of functions for `help`: the class's own, completed from its attributes."""

from __future__ import annotations

import inspect
import textwrap
from dataclasses import fields
from functools import cache

from stepgen.ir.dtypes import bool_
from stepgen.ir.function import Cut, Folded, Function, Mapped, Scanned

_APPLIED = {Mapped: "Map", Folded: "Accum", Scanned: "Scan", Cut: "FlatMap"}


def appliers(kind: type[Function]) -> list[str]:
    """The operators that functions of this class are for, as their classes are called."""
    return [name for base, name in _APPLIED.items() if issubclass(kind, base)]


@cache
def about(kind: type[Function]) -> str:
    """The docstring of the maker of a function class.

    Parameters
    ----------
    kind : type
        The class.
    """
    returned = f"For {_listed(appliers(kind), 'and')}{_operands(kind)}."
    wrong = "Where it is applied, if it does not take such elements."
    if fields(kind):
        wrong = "If a parameter does not fit; where it is applied, if it takes no such elements."
    return "\n".join(
        [
            inspect.getdoc(kind) or "",
            *("", "Returns", "-------", "Function", _indented(returned)),
            *("", "Raises", "------", "StepError", _indented(wrong)),
        ]
    )


def _operands(kind: type[Function]) -> str:
    """The tiles that Map takes, where one sentence suffices; else the class's docstring has it."""
    if not issubclass(kind, Mapped) or kind.reads_numbers:
        return ""
    if kind.maps_selectors and bool_ not in kind.elements:
        return ", of selectors"
    if kind.arity > 2 or (kind.extents_of != "both" and kind.arity > 1):
        return ""
    elements = _listed([str(e) for e in kind.elements], "or")
    selectors = ", of selectors or" if kind.maps_selectors else ","
    if kind.arity > 1:
        repeated = "extents of 1 are repeated as in numpy"
        return f"{selectors} of {kind.arity} tiles ``[R, C]`` of {elements}; {repeated}"
    shape = "``[R, C] -> [R, C]``" if kind.extents_of == "both" else "of tiles"
    return f"{selectors} {shape} of {elements}"


def _listed(words: list[str], last: str) -> str:
    return f" {last} ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


def _indented(text: str) -> str:
    return textwrap.fill(text, 96, initial_indent="    ", subsequent_indent="    ")
