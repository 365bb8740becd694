"""What graphs, nodes, tensors and dims may be called."""

from __future__ import annotations

import re

from stepgen.ir.arguments import shown
from stepgen.ir.errors import StepError

LONGEST = 100
"""Characters of a name; it becomes part of the names of files, modules and signals."""

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def identifier(name: object, what: str, *, longest: int | None = LONGEST) -> str:
    """A name that a user gave, checked: every name of a program comes through here.

    Names of graphs become names of files, names of ports those of signals and of arrays in
    ``.npz`` files, so they are plain identifiers in every language that stepgen writes.

    Parameters
    ----------
    name : object
        What was given.
    what : str
        What it names, and where it was written: the beginning of the message.
    longest : int or None
        Characters that it may have; None for a name that stays inside.

    Raises
    ------
    StepError
        If it is no ASCII identifier, or too long.
    """
    if isinstance(name, str) and _IDENTIFIER.fullmatch(name):
        if longest is None or len(name) <= longest:
            return str(name)
        raise StepError(f"{what} must have at most {longest} characters, not {len(name)}")
    raise StepError(
        f"{what} must be an ASCII identifier (letters, digits and _, no digit first), not "
        f"{shown(name)}"
    )
