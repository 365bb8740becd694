"""Routings: which experts each token is sent to, from a file or drawn, and their selectors."""

from __future__ import annotations

import math
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from ..ir.errors import StepError

Routing = npt.NDArray[np.int64]
"""Experts chosen per token, shape [tokens, top]."""

Masks = npt.NDArray[np.bool_]
"""Selectors, shape [tokens, experts]."""


def usual_skew(experts: int) -> float:
    """How unequal the popularity of experts usually is, as the deviation of its logarithm.

    With it, tokens per expert spread as in batches of 64 tokens of Mixtral-8x7B (8 experts: a
    deviation of about 0.3 of the mean) and Qwen3-30B-A3B (128 experts: about 1.8 of the mean).
    """
    return max(0.3, 0.34 * math.log2(experts) - 0.72)


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
        If the file can't be read, or holds no table of expert numbers.
    """
    readers = {".npy": _npy, ".npz": _npz, ".csv": _csv}
    if path.suffix not in readers:
        raise StepError(f"a routing is a file that ends in .npz, .npy or .csv, not {path}")
    try:
        array = readers[path.suffix](path)
    except OSError as error:
        raise StepError(f"can't read the routing {path}: {error.strerror or error}") from None
    except (ValueError, BadZipFile, EOFError, UnicodeDecodeError):
        raise StepError(f"{path} is no routing: it holds no table of numbers") from None
    if array.ndim != 2 or 0 in array.shape:
        raise StepError(
            f"{path} is no routing: it must have the shape [tokens, experts per token], "
            f"not {list(array.shape)}"
        )
    if array.dtype.kind not in "iuf" or not np.array_equal(array, np.rint(array)):
        raise StepError(f"{path} is no routing: it must hold expert numbers, not {array.dtype}")
    return array.astype(np.int64)


def _npy(path: Path) -> npt.NDArray[np.generic]:
    return np.asarray(np.load(path, allow_pickle=False))


def _npz(path: Path) -> npt.NDArray[np.generic]:
    with np.load(path, allow_pickle=False) as file:
        names = file.files
        if "data" not in names and len(names) != 1:
            raise StepError(
                f"{path} is no routing: it needs an array called data, it has {', '.join(names)}"
            )
        return np.asarray(file["data" if "data" in names else names[0]])


def _csv(path: Path) -> npt.NDArray[np.generic]:
    lines = [line for line in path.read_text().splitlines() if line.strip()]
    if lines and not any(c.isdigit() for c in lines[0]):
        lines = lines[1:]
    if not lines:
        raise ValueError
    return np.loadtxt(lines, delimiter=",", ndmin=2)


def masks(routing: npt.ArrayLike, *, tokens: int, experts: int, top: int) -> Masks:
    """The selectors of a routing.

    Parameters
    ----------
    routing : int array of shape [tokens, top]
        Experts chosen per token.
    tokens, experts, top : int
        What the program was built for.

    Returns
    -------
    bool array of shape [tokens, experts]

    Raises
    ------
    StepError
        If the shape differs, an expert does not exist, or a token names one twice.
    """
    chosen = np.asarray(routing)
    if chosen.ndim != 2 or chosen.dtype.kind not in "iu":
        raise StepError(
            f"the routing must be integers of shape [tokens, experts per token], "
            f"not {chosen.dtype} of shape {list(chosen.shape)}"
        )
    if chosen.shape != (tokens, top):
        raise StepError(
            f"the routing has {chosen.shape[0]} tokens with {chosen.shape[1]} experts each, the "
            f"program is built for {tokens} tokens with {top} each"
        )
    wrong = np.argwhere((chosen < 0) | (chosen >= experts))
    if len(wrong):
        token, place = wrong[0]
        raise StepError(
            f"the routing sends token {token} to expert {chosen[token, place]}, the program has "
            f"the experts 0 to {experts - 1}"
        )
    mask = np.zeros((tokens, experts), np.bool_)
    np.put_along_axis(mask, chosen, True, axis=1)
    twice = np.flatnonzero(mask.sum(axis=1) != top)
    if len(twice):
        token = twice[0]
        names, counts = np.unique(chosen[token], return_counts=True)
        raise StepError(f"the routing sends token {token} to expert {names[counts > 1][0]} twice")
    return mask


def skewed(
    *, tokens: int, experts: int, top: int, seed: int = 0, skew: float | None = None
) -> Routing:
    """Draw a routing in which some experts get more tokens than others, as trained gates choose.

    Experts have a popularity whose logarithm is normally distributed; each token draws `top`
    different ones.

    Parameters
    ----------
    tokens, experts, top : int
        What the program is built for.
    seed : int
        Another seed, another routing.
    skew : float, optional
        Deviation of the logarithm of the popularity, by default `usual_skew`; 0 treats all alike.

    Returns
    -------
    int64 array of shape [tokens, top]
    """
    if not 1 <= top <= experts:
        raise StepError(f"a token can't be sent to {top} of {experts} experts")
    rng = np.random.default_rng(seed)
    popularity = (usual_skew(experts) if skew is None else skew) * rng.standard_normal(experts)
    # The largest of popularity plus Gumbel noise: a draw without replacement by popularity.
    scores = popularity + rng.gumbel(size=(tokens, experts))
    return np.argsort(-scores, axis=1, kind="stable")[:, :top].astype(np.int64)
