"""Traces of dynamic programs: routings and lengths, from files or drawn with given statistics."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from stepgen.ir.arguments import shown
from stepgen.ir.errors import StepError
from stepgen.program import routing
from stepgen.program.routing import Routing

Lengths = npt.NDArray[np.int64]
"""Length of each request of a batch, shape [batch]."""

SKEWS = {"mixtral": (0.3, 0.0), "qwen": (1.1, 0.47)}
"""By model: spread of the logarithm of experts' popularity, and share of idle experts.

With 64 tokens, tokens per expert spread by about 0.3 (Mixtral-8x7B: top 2 of 8) and 1.8 (Qwen3-
30B-A3B: top 8 of 128, of which about half get none) times their mean, as traces of the models do.
"""

_STEPS = 60
"""Of each bisection: the doubles between two bounds are exhausted."""


def load_lengths(path: Path) -> Lengths:
    """Read the lengths of a batch of requests from a file.

    Parameters
    ----------
    path : Path
        ``.npy``, ``.npz`` with one array or one called ``data``, or ``.csv`` with one length per
        line or all in one line.

    Raises
    ------
    StepError
        If the file can't be read or holds no lengths of at least 0.
    """
    return as_lengths(routing.table(path, "list of lengths"), f"{path} is not a list of lengths")


def as_lengths(array: npt.NDArray[np.generic], otherwise: str) -> Lengths:
    """The lengths in an array; `otherwise` begins the message of an array that has none."""
    if array.ndim == 2 and 1 in array.shape:
        array = array.ravel()
    if array.ndim != 1 or not array.size:
        raise StepError(f"{otherwise}: it must have the shape [requests], not {list(array.shape)}")
    lengths = routing.integers(array, f"{otherwise}: they must be integers")
    if lengths.min() < 0:
        raise StepError(f"{otherwise}: request {lengths.argmin()} has {lengths.min()}")
    return lengths


def given(**traces: Any) -> dict[str, npt.NDArray[np.int64]]:
    """Routing and lengths by name, from files or arrays; leaves out what is not given.

    Raises
    ------
    StepError
        If a file can't be read, or one is not what it should be.
    """
    of_file = {"routing": routing.read, "lengths": load_lengths}
    of_array = {"routing": routing.as_routing, "lengths": as_lengths}
    return {
        what: of_file[what](Path(one))
        if isinstance(one, str | Path)
        else of_array[what](np.asarray(one), f"{what}={shown(one)} can't be taken")
        for what, one in traces.items()
        if one is not None
    }


def draw_routing(
    tokens: int,
    experts: int,
    top: int,
    *,
    spread: float = 0.3,
    idle: float = 0.0,
    seed: int = 0,
) -> Routing:
    """Draw `top` different experts for each token, popular ones more often.

    Parameters
    ----------
    tokens, experts, top : int
        Number of tokens, of experts, and of experts per token.
    spread : float
        Standard deviation of the logarithm of an expert's popularity.
    idle : float
        Share of the experts that hardly any token chooses.
    seed : int
        Seed of the routing.

    Returns
    -------
    int64 array of shape [tokens, top]

    Raises
    ------
    StepError
        If there are no tokens, or fewer experts than experts per token.
    """
    routing.checked("a drawn routing", None, tokens=tokens, experts=experts, top=top)
    rng = np.random.default_rng(seed)
    popularity = spread * rng.standard_normal(experts)
    popularity[rng.permutation(experts)[: int(idle * experts)]] -= 20
    noise = rng.gumbel(size=(tokens, experts))
    chosen = np.argsort(-(popularity + noise), axis=1, kind="stable")[:, :top]
    return np.asarray(chosen, np.int64)


def draw_lengths(
    batch: int, mean: float, stdev: float, *, most: int = 4096, seed: int = 0
) -> Lengths:
    """Draw the lengths of a batch: log-normal, within 1 and `most`, fitted to the statistics.

    Parameters
    ----------
    batch : int
        Number of requests.
    mean, stdev : float
        Of the drawn batch, except for rounding to integers: the standard deviation is that of the
        sample (n - 1).
    most : int
        Maximum length.
    seed : int
        Seed of the batch.

    Returns
    -------
    int64 array of shape [batch]

    Raises
    ------
    StepError
        If no such batch exists.
    """
    if batch < 1 or not 1 <= mean <= most or stdev < 0 or (batch == 1 and stdev > 0):
        raise StepError(
            f"{batch} lengths within 1 and {most} can't have the mean {mean:g} and the standard "
            f"deviation {stdev:g}"
        )
    return _drawn_lengths(batch, mean, stdev, most, seed).copy()


@cache
def _drawn_lengths(batch: int, mean: float, stdev: float, most: int, seed: int) -> Lengths:
    """Figures and searches draw the same batch for many of their points."""
    normal = np.random.default_rng(seed).standard_normal(batch)
    low, high = 0.0, 64.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        spread = _fitted(normal, middle, mean, most).std(ddof=min(1, batch - 1))
        low, high = (middle, high) if spread < stdev else (low, middle)
    lengths = _fitted(normal, high, mean, most)
    if abs(lengths.std(ddof=min(1, batch - 1)) - stdev) > 1 + 0.01 * stdev:
        raise StepError(
            f"these {batch} lengths within 1 and {most} of mean {mean:g} have a standard deviation "
            f"of at most {lengths.std(ddof=1):.0f}, not {stdev:g}; take another seed or a larger "
            f"maximum"
        )
    return np.rint(lengths).astype(np.int64)


def _fitted(
    normal: npt.NDArray[np.float64], spread: float, mean: float, most: int
) -> npt.NDArray[np.float64]:
    """Log-normal numbers within 1 and `most` whose mean is the given one."""
    logs = spread * (normal - normal.mean())
    low, high = -float(logs.max()), np.log(most) - float(logs.min())
    for _ in range(_STEPS):
        middle = (low + high) / 2
        found = np.exp(np.clip(logs + middle, 0, np.log(most))).mean()
        low, high = (middle, high) if found < mean else (low, middle)
    fitted: npt.NDArray[np.float64] = np.exp(np.clip(logs + high, 0, np.log(most)))
    return fitted
