"""Piecewise polynomials in fixed point: tables that hardware and reference share.

The argument is an unsigned fixed-point number. Octave 0 covers [0, 1), octave i >= 1 covers
[2**(i-1), 2**i); each is divided into equal segments, and each segment has the coefficients of the
polynomial through equally spaced points of the function (both ends included, so it is continuous).
Evaluation uses integer arithmetic only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Function = Callable[[Any], Any]
"""A function on mpmath numbers."""


@dataclass(frozen=True)
class Precision:
    """Resolution of the tables for a number format.

    Attributes
    ----------
    argument : int
        Fraction bits of a table's argument.
    result : int
        Fraction bits of a table's result.
    segments : int
        log2 of the segments per octave.
    degree : int
        1 interpolates linearly, 2 quadratically.
    log2e : int
        Fraction bits of log2(e), by which exp multiplies its argument.
    """

    argument: int
    result: int
    segments: int
    degree: int
    log2e: int


PRECISION = {
    "f32": Precision(argument=30, result=30, segments=8, degree=2, log2e=35),
    "bf16": Precision(argument=16, result=16, segments=6, degree=1, log2e=17),
}
"""Chosen so that a table's error is small compared with half a unit in the last place."""


@dataclass(frozen=True)
class Table:
    """One tabulated function.

    Attributes
    ----------
    functions : sequence of callables
        One per octave, on [0, 1), [1, 2), [2, 4), ...
    precision : Precision
    """

    functions: tuple[Function, ...]
    precision: Precision

    @cached_property
    def coefficients(self) -> Ints:
        """Array ``[octaves * segments, degree + 1]``, constant term first, in result bits."""
        import mpmath  # type: ignore[import-untyped]  # which takes a while to load

        per_octave = 1 << self.precision.segments
        rows = []
        for octave, function in enumerate(self.functions):
            start = 0 if octave == 0 else 2 ** (octave - 1)
            width = mpmath.mpf(1 if octave == 0 else start) / per_octave
            for segment in range(per_octave):
                rows.append(self._segment(function, start + segment * width, width))
        return np.array(rows, dtype=np.int64)

    def _segment(self, function: Function, left: Any, width: Any) -> Sequence[int]:
        import mpmath

        with mpmath.workprec(120):
            degree = self.precision.degree
            points = [function(left + width * i / degree) for i in range(degree + 1)]
            if degree == 1:
                exact = [points[0], points[1] - points[0]]
            else:
                bend = 2 * (points[0] - 2 * points[1] + points[2])
                exact = [points[0], points[2] - points[0] - bend, bend]
            return [int(mpmath.nint(c * 2**self.precision.result)) for c in exact]

    def __call__(self, argument: Ints) -> Ints:
        """Evaluate by Horner's rule; products are floored to result bits.

        Parameters
        ----------
        argument : int64 array
            Fixed point with ``precision.argument`` fraction bits, at least 0; clamped to the end of
            the last octave.
        """
        bits, cut = self.precision.argument, self.precision.segments
        octaves = len(self.functions)
        argument = np.minimum(argument, (1 << (bits + octaves - 1)) - 1)
        octave = np.zeros_like(argument)
        for i in range(1, octaves):
            octave += argument >= 1 << (bits + i - 1)
        width = bits + np.maximum(octave - 1, 0) - cut
        inside = argument & ((np.int64(1) << (width + cut)) - 1)
        row = self.coefficients[(octave << cut) + (inside >> width)]
        step = inside & ((np.int64(1) << width) - 1)
        result: Ints = row[..., -1]
        for column in range(self.precision.degree - 1, -1, -1):
            result = row[..., column] + ((result * step) >> width)
        return result
