"""Routings: the experts of each token, from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from stepgen.ir.errors import StepError
from stepgen.program import spreadsheet
from stepgen.semantics.arrays import read as read_arrays

Routing = npt.NDArray[np.int64]
"""Experts chosen per token, shape [tokens, top]."""


def read(path: Path) -> Routing:
    """Read a routing from a file.

    Parameters
    ----------
    path : Path
        ``.npy``; ``.npz`` with one array, or one called ``data``; or ``.csv`` with one token per
        line, as `spreadsheet.read` takes it.

    Returns
    -------
    int64 array of shape [tokens, top]

    Raises
    ------
    StepError
        If the file can't be read, holds no table of expert numbers, or names an expert twice for
        one token. Which experts there are is for the program to check.
    """
    return as_routing(table(path, "routing"), f"{path} is not a routing")


def as_routing(array: npt.NDArray[np.generic], otherwise: str) -> Routing:
    """The routing in an array; `otherwise` begins the message of an array that has none."""
    if array.ndim != 2 or 0 in array.shape:
        raise StepError(
            f"{otherwise}: it must have the shape [tokens, experts per token], "
            f"not {list(array.shape)}"
        )
    routing = integers(array, f"{otherwise}: it must hold expert numbers")
    _check_experts(routing, otherwise)
    return routing


def checked(
    program: str, routing: Routing | None, *, tokens: int, experts: int, top: int
) -> Routing | None:
    """A routing that a program is given, if it is one of these sizes.

    Parameters
    ----------
    program : str
        Name of the program, for messages.
    routing : int array of shape [tokens, top] or None
        The experts of each token; None where they are drawn.
    tokens, experts, top : int
        Number of tokens, of experts, and of experts per token.

    Raises
    ------
    StepError
        If there are no tokens, more experts per token than there are, or the routing has another
        shape, names an expert that is not there, or one twice for a token.
    """
    if tokens < 1 or not 1 <= top <= experts:
        raise StepError(
            f"{program} needs at least 1 token, and 1 to {experts} of its {experts} experts for "
            f"each, not tokens={tokens} and top={top}"
        )
    if routing is None:
        return None
    found = np.asarray(routing)
    if found.shape != (tokens, top):
        raise StepError(
            f"{program} needs a routing of {tokens} tokens to {top} experts each, not of shape "
            f"{list(found.shape)}"
        )
    whole = integers(found, f"{program} needs a routing of expert numbers")
    _check_experts(whole, f"{program} can't take the routing", experts)
    return whole


def _check_experts(routing: Routing, prefix: str, experts: int | None = None) -> None:
    """Check that each token is sent to different experts, which are there."""
    for token, row in enumerate(routing):
        names, counts = np.unique(row, return_counts=True)
        absent = names[names < 0] if experts is None else names[(names < 0) | (names >= experts)]
        if len(absent) or counts.max() > 1:
            what = f"{absent[0]}" if len(absent) else f"{names[counts > 1][0]} twice"
            of = "" if experts is None else f", of the experts 0 to {experts - 1}"
            raise StepError(f"{prefix}: it sends token {token} to expert {what}{of}")


def table(path: Path, what: str) -> npt.NDArray[np.generic]:
    """Read an array of numbers from a file.

    Parameters
    ----------
    path : Path
        As for `read`.
    what : str
        Expected contents of the file, for messages.

    Raises
    ------
    StepError
        If the file can't be read or holds no array.
    """
    if path.suffix not in (".npy", ".npz", ".csv"):
        raise StepError(f"a {what} is a file that ends in .npz, .npy or .csv, not {path}")
    none = f"{path} is not a {what}: it holds no table of numbers"
    if path.suffix != ".csv":
        arrays = read_arrays(path, f"the {what}", none)
        if "data" not in arrays and len(arrays) != 1:
            some = ", ".join(arrays) or "none"
            raise StepError(f"{path} is not a {what}: it needs an array called data, it has {some}")
        return arrays.get("data", next(iter(arrays.values())))
    try:
        return spreadsheet.read(path)
    except OSError as error:
        raise StepError(f"can't read the {what} {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise StepError(f"{path} is not a {what}: {error}") from None


def integers(array: npt.NDArray[np.generic], otherwise: str) -> npt.NDArray[np.int64]:
    """The integers of a table.

    Raises
    ------
    StepError
        If it holds other numbers, or integers of more than 62 bits; `otherwise` is the message,
        and the first one and its place follow.
    """
    numbers: npt.NDArray[Any] = array
    if numbers.dtype.kind not in "iuf":
        raise StepError(f"{otherwise}, not {numbers.dtype}")
    fits = (np.abs(numbers.astype(float)) < 2.0**62) & (numbers == np.rint(numbers))
    if not fits.all():
        place = tuple(int(n) for n in np.argwhere(~fits)[0])
        names = ("row", "column", "depth")[: len(place)]
        where = ", ".join(f"{name} {n + 1}" for name, n in zip(names, place, strict=False))
        raise StepError(f"{otherwise}, not {numbers[place]:g}" + (f" in {where}" if where else ""))
    return numbers.astype(np.int64)
