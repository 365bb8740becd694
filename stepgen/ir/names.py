"""Rules for the names of graphs, nodes, tensors and dims."""

from __future__ import annotations

import re

from stepgen.ir.arguments import shown
from stepgen.ir.errors import StepError

LONGEST = 100
"""Most characters of a name; it becomes part of the names of files, modules and signals."""

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def identifier(name: object, what: str, *, longest: int | None = LONGEST) -> str:
    """A user's name, checked; used for all names of a program.

    Names of graphs become names of files, names of ports those of signals and of arrays in
    ``.npz`` files, so they must be identifiers in every language that stepgen writes.

    Parameters
    ----------
    name : object
        The user's value.
    what : str
        What it names, and the line: the beginning of the message.
    longest : int or None
        Most characters; None for a name that is not used in files.

    Raises
    ------
    StepError
        If it is not an ASCII identifier, or too long.
    """
    if isinstance(name, str) and _IDENTIFIER.fullmatch(name):
        if longest is None or len(name) <= longest:
            return str(name)
        raise StepError(f"{what} must have at most {longest} characters, not {len(name)}")
    raise StepError(
        f"{what} must be an ASCII identifier (letters, digits and _, no digit first), not "
        f"{shown(name)}"
    )
