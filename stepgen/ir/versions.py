"""Which stepgen this is, and which files of other versions it reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from stepgen.ir.arguments import shown
from stepgen.ir.errors import StepError

_VERSION = re.compile(r"[0-9A-Za-z.+-]{1,60}")


@cache
def version() -> str:
    """The version of this stepgen."""
    from importlib import metadata  # takes a while to load

    try:
        return metadata.version("stepgen")
    except metadata.PackageNotFoundError:
        return "0+uninstalled"


def stamped(form: int, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a file behind those that say its format, and who writes it."""
    return {"format": form, "stepgen": version(), **fields}


@contextmanager
def unstamped(
    data: Any, newest: int, what: str, *, stamp: bool = False
) -> Iterator[dict[str, Any]]:
    """Read a file that may be of another version of stepgen; errors then name both versions.

    Parameters
    ----------
    data : object
        The whole file, a JSON object.
    newest : int
        The format that this stepgen writes; it reads those before, too.
    what : str
        What is read, for messages.
    stamp : bool
        Whether there must be a stamp; else a file without one is of format 1, as before stamps.

    Yields
    ------
    dict of str to object
        The fields without the stamp.

    Raises
    ------
    StepError
        If the file is of another format, or the stamp is damaged.
    """
    if not isinstance(data, dict):
        raise StepError(f"{what} must be an object, not {shown(data)}")
    fields = dict(data)
    form, writer = fields.pop("format", None if stamp else 1), fields.pop("stepgen", None)
    if writer is not None and not (isinstance(writer, str) and _VERSION.fullmatch(writer)):
        raise StepError(f"{what} has a 'stepgen' that is {shown(writer)}")
    if type(form) is not int or not 1 <= form <= newest:
        found = "has no 'format'" if form is None else f"is in format {shown(form)}"
        raise StepError(
            f"{what} {found} of stepgen {writer or '(unknown)'}, but this is stepgen {version()}, "
            f"which reads {f'formats 1 to {newest}' if newest > 1 else 'format 1'}"
        )
    try:
        yield fields
    except StepError as error:
        if writer in (None, version()):
            raise
        raise StepError(
            f"{error} (it was written by stepgen {writer}, this is stepgen {version()})"
        ) from None
