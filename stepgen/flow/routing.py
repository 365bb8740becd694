"""Routings: which experts each token is sent to, from a file."""

from __future__ import annotations

from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from ..ir.errors import StepError

Routing = npt.NDArray[np.int64]
"""Experts chosen per token, shape [tokens, top]."""


def read(path: Path) -> Routing:
    """Read a routing from a file.

    Parameters
    ----------
    path : Path
        ``.npy``; ``.npz`` with one array, or one called ``data``; or ``.csv`` with one token per
        line. A line of names at the top of a csv file is skipped.

    Returns
    -------
    int64 array of shape [tokens, top]

    Raises
    ------
    StepError
        If the file can't be read, holds no table of expert numbers, or names an expert twice for
        one token. Which experts there are is for the program to check.
    """
    array = table(path, "routing")
    if array.ndim != 2 or 0 in array.shape:
        raise StepError(
            f"{path} is no routing: it must have the shape [tokens, experts per token], "
            f"not {list(array.shape)}"
        )
    if array.dtype.kind not in "iuf" or not np.array_equal(array, np.rint(array)):
        raise StepError(f"{path} is no routing: it must hold expert numbers, not {array.dtype}")
    routing = array.astype(np.int64)
    for token, experts in enumerate(routing):
        names, counts = np.unique(experts, return_counts=True)
        if names[0] < 0 or counts.max() > 1:
            what = f"{names[0]}" if names[0] < 0 else f"{names[counts > 1][0]} twice"
            raise StepError(f"{path} is no routing: it sends token {token} to expert {what}")
    return routing


def table(path: Path, what: str) -> npt.NDArray[np.generic]:
    """Read an array of numbers from a file.

    Parameters
    ----------
    path : Path
        As for `read`.
    what : str
        What the file is to hold, for messages.

    Raises
    ------
    StepError
        If the file can't be read or holds no array.
    """
    readers = {".npy": _npy, ".npz": _npz, ".csv": _csv}
    if path.suffix not in readers:
        raise StepError(f"a {what} is a file that ends in .npz, .npy or .csv, not {path}")
    try:
        return readers[path.suffix](path)
    except _Several as error:
        raise StepError(
            f"{path} is no {what}: it needs an array called data, it has {error}"
        ) from None
    except OSError as error:
        raise StepError(f"can't read the {what} {path}: {error.strerror or error}") from None
    except (ValueError, BadZipFile, EOFError, UnicodeDecodeError):
        raise StepError(f"{path} is no {what}: it holds no table of numbers") from None


class _Several(Exception):
    """A file has several arrays, and none is the one that is meant."""


def _npy(path: Path) -> npt.NDArray[np.generic]:
    return np.asarray(np.load(path, allow_pickle=False))


def _npz(path: Path) -> npt.NDArray[np.generic]:
    with np.load(path, allow_pickle=False) as file:
        names = file.files
        if "data" not in names and len(names) != 1:
            raise _Several(", ".join(names))
        return np.asarray(file["data" if "data" in names else names[0]])


def _csv(path: Path) -> npt.NDArray[np.generic]:
    lines = [line for line in path.read_text().splitlines() if line.strip()]
    if lines and not any(c.isdigit() for c in lines[0]):
        lines = lines[1:]
    if not lines:
        raise ValueError
    return np.loadtxt(lines, delimiter=",", ndmin=2)
