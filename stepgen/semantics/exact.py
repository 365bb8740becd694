"""The functions that tables are made of, on mpmath numbers."""

from __future__ import annotations

from typing import Any, Final

import mpmath  # type: ignore[import-untyped]

from stepgen.semantics.piecewise import Function
from stepgen.semantics.tables import OCTAVES


def _mills(octave: int) -> Function:
    """``2**(octave + 1) * Phi(-t) / e**(-t*t/2)``: between 0.5 and 1.6 in its octave."""
    return lambda t: (
        mpmath.erfc(t / mpmath.sqrt(2)) * mpmath.exp(t * t / 2) * mpmath.mpf(2) ** octave
    )


def _tanh_slope(t: Any) -> Any:
    return mpmath.tanh(t) / t if t else mpmath.mpf(1)


FUNCTIONS: Final[dict[str, tuple[Function, ...]]] = {
    "exp2": (lambda f: mpmath.mpf(2) ** f,),
    "reciprocal": (lambda u: 1 / (1 + u),),
    "sqrt_even": (lambda u: mpmath.sqrt(1 + u),),
    "sqrt_odd": (lambda u: mpmath.sqrt(2 * (1 + u)),),
    "rsqrt_even": (lambda u: 1 / mpmath.sqrt(1 + u),),
    "rsqrt_odd": (lambda u: 1 / mpmath.sqrt(2 * (1 + u)),),
    "tanh": (_tanh_slope,) + (mpmath.tanh,) * (OCTAVES - 1),
    "mills": tuple(map(_mills, range(OCTAVES))),
}
"""By name, one per octave."""
