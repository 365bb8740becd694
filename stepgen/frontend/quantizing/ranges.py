"""Ranges of values on calibration data, and the size of a step with which int8 counts them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, get_args

import numpy as np

from stepgen.frontend.steps import MOST
from stepgen.frontend.weight import Array
from stepgen.ir.arguments import shown
from stepgen.ir.errors import StepError

Method = Literal["minmax", "percentile", "mse"]
"""What the largest number that is not cut off is.

``minmax``: the largest that was seen. ``percentile``: that of which so many are smaller. ``mse``:
that with the least squares of errors.
"""

PERCENTILE: Final = 99.9
"""Of the numbers that are not cut off, in percent."""

BINS: Final = 4096
"""Of a histogram, at least half of them in use."""

SHARES: Final = np.linspace(1.0, 0.2, 81)
"""Of the largest number, which are compared by their errors."""

POWERS: Final = 4
"""Steps of powers of two that are compared, from the one that cuts off nothing."""


@dataclass
class Histogram:
    """Sizes of the numbers of a value, signs aside.

    Attributes
    ----------
    top : float
        A power of two, at least the largest number.
    counts : array
        How many there are in each of as many equal parts from 0 to the top.
    largest : float
    """

    top: float = 0.0
    counts: Array = field(default_factory=lambda: np.zeros(BINS, np.int64))
    largest: float = 0.0

    def add(self, numbers: Array) -> None:
        """Count more numbers."""
        sizes = np.abs(numbers).reshape(-1)
        largest = float(sizes.max(initial=0.0))
        self.largest = max(self.largest, largest)
        if largest > self.top:
            self._widen(float(2 ** np.ceil(np.log2(largest))))
        if self.top:
            place = np.minimum((sizes * (BINS / self.top)).astype(np.int64), BINS - 1)
            self.counts += np.bincount(place, minlength=BINS)
        else:
            self.counts[0] += len(sizes)

    def merge(self, other: Histogram) -> None:
        """Count what another one has counted."""
        other, top = replace(other), max(self.top, other.top)
        for one in (self, other):
            one._widen(top)
        self.counts = self.counts + other.counts
        self.largest = max(self.largest, other.largest)

    def _widen(self, top: float) -> None:
        """The same numbers in parts that are wider by a power of two, so none is cut."""
        if self.top:
            times = min(int(top / self.top), BINS)
            merged = self.counts.reshape(-1, times).sum(1)
            self.counts = np.zeros_like(self.counts)
            self.counts[: len(merged)] = merged
        self.top = top

    @property
    def middles(self) -> Array:
        """The middle of each part."""
        return (np.arange(BINS) + 0.5) * (self.top / BINS)

    def percentile(self) -> float:
        """The end of the part where so many are smaller."""
        enough = np.searchsorted(np.cumsum(self.counts), PERCENTILE * self.counts.sum() / 100)
        return min(float(enough + 1) * self.top / BINS, self.largest)

    def step(self, method: Method, *, powers: bool) -> float:
        """What int8 counts, by the numbers that it does not cut off; of one that is always 0, 1.

        Parameters
        ----------
        method : {"minmax", "percentile", "mse"}
        powers : bool
            Whether it is a power of two.
        """
        if not self.largest:
            return 1.0
        if method != "mse":
            step = (self.largest if method == "minmax" else self.percentile()) / MOST
            return float(2.0 ** np.ceil(np.log2(step))) if powers else step
        whole = np.ceil(np.log2(self.largest / MOST))
        tried = 2.0 ** (whole - np.arange(POWERS)) if powers else SHARES * self.largest / MOST
        return float(min(tried, key=self._error))

    def _error(self, step: float) -> float:
        """The squares of errors."""
        x = self.middles
        error = np.clip(np.rint(x / step), 0, MOST) * step - x
        return float((np.square(error) * self.counts).sum())

    def beyond(self, most: float) -> float:
        """The part of the numbers that are in parts beyond one."""
        beyond = np.arange(BINS) * (self.top / BINS) > most
        return float(self.counts[beyond].sum() / max(1, self.counts.sum()))


@dataclass(frozen=True)
class Range:
    """Of a value in one layer.

    Attributes
    ----------
    layer : tuple of int
        In each loop around it.
    largest : float
        Size of the largest number that was seen.
    step : float
        What int8 counts.
    cut : float
        Part of the numbers that are cut off.
    """

    layer: tuple[int, ...]
    largest: float
    step: float
    cut: float


class Ranges:
    """Histograms of values, by name and layer.

    Parameters
    ----------
    method : {"minmax", "percentile", "mse"}

    Raises
    ------
    StepError
        If there is no such method.
    """

    def __init__(self, method: str) -> None:
        if method not in get_args(Method):
            known = ", ".join(get_args(Method))
            raise StepError(f"there is no calibration {shown(method)}, those are {known}")
        self.method: Method = method  # type: ignore[assignment]
        self.seen: dict[tuple[str, tuple[int, ...]], Histogram] = {}

    def add(self, every: dict[Any, Array]) -> None:
        """Count what operations read, which they note under ``name:what``.

        Raises
        ------
        StepError
            If there are numbers that are not finite.
        """
        for key, array in every.items():
            name, layer = key
            if not name.endswith((":x", ":hidden")):
                continue
            strange = array[~np.isfinite(array)]
            if strange.size:
                where = f" of layer {', '.join(map(str, layer))}" if layer else ""
                raise StepError(
                    f"{name.partition(':')[0]}{where} reads {strange.flat[0]} on the calibration "
                    "set, of which no step can be made"
                )
            self.seen.setdefault(key, Histogram()).add(array)

    def of(self, name: str, *, powers: bool = False) -> list[Range]:
        """The ranges of a value in each layer; with powers of two, the step is that of all."""
        own = {layer: seen for (key, layer), seen in sorted(self.seen.items()) if key == name}
        every = Histogram()
        for seen in own.values() if powers else ():
            every.merge(seen)
        found = []
        for layer, seen in own.items():
            step = (every if powers else seen).step(self.method, powers=powers)
            found.append(Range(layer, seen.largest, step, seen.beyond(MOST * step)))
        return found
