"""Transforms by name, in the syntax of the command line: ``time_multiplex:regions=8``."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from stepgen.compile import transforms
from stepgen.compile.transforms import Transformed
from stepgen.ir.errors import StepError
from stepgen.program.program import Program
from stepgen.program.settings import bind, pairs

OPTION = "--transform"


def names() -> dict[str, Callable[..., Transformed]]:
    """All transforms by name."""
    found = {name: getattr(transforms, name) for name in transforms.__all__}
    return {name: function for name, function in found.items() if inspect.isfunction(function)}


def transformed(program: Program, texts: Sequence[str]) -> Program:
    """Apply transforms, one after the other.

    Parameters
    ----------
    program : Program
        Not modified.
    texts : sequence of str
        ``name`` or ``name:option=value,option=value``. A value that is a list has commas too.

    Returns
    -------
    Program
        The new graph and the inputs of the old one, adapted.

    Raises
    ------
    StepError
        If there is no such transform or option, or it does not apply.
    """
    if not texts:
        return program
    known = names()
    made = Transformed.of(program.graph)
    for text in texts:
        name, _, rest = text.partition(":")
        if name not in known:
            raise StepError(f"there is no transform {name!r}, only {', '.join(known)}")
        settings = pairs(_options(rest), f"{OPTION} {name}")
        function = partial(known[name], made)
        option = f"{OPTION} {name}:{{}}=..."
        arguments: dict[str, Any] = bind(function, settings, {}, name, option=option)
        made = function(**arguments)
    inputs = made.inputs(program.inputs)
    # A stream or tensor that is made of given ones is given too.
    given = made.inputs({name: program.inputs[name] for name in program.given})
    return dataclasses.replace(
        program, graph=made.graph, inputs=inputs, given=frozenset(given), design=None
    )


def _options(text: str) -> list[str]:
    """Split at commas; a part without ``=`` continues the value before it."""
    parts: list[str] = []
    for part in text.split(",") if text else []:
        if parts and "=" not in part:
            parts[-1] += f",{part}"
        else:
            parts.append(part)
    return parts
