"""Elementary functions by tables with interpolation, in integer arithmetic.

A number is split into sign, exponent and mantissa, the mantissa (or a fixed-point image of the
number) is the argument of `piecewise` tables, and the product of mantissas is rounded **once** to
the format. `MAX_ULP` is the largest error compared with the exact function in units in the last
place (0.5 is a correctly rounded result); tests check it.

| function | by |
|---|---|
| exp | ``2**(x * log2(e))``, table of ``2**f`` on [0, 1) |
| reciprocal, div | table of ``1 / (1 + u)`` |
| sqrt, rsqrt | two tables, one per parity of the exponent |
| tanh | ``x * T(x)`` below 1, a table of tanh from 1 to 16, then 1 |
| silu | ``x / (1 + e**-x)`` by the tables of exp and reciprocal |
| gelu | ``x * Phi(x)`` (the exact one, by erf), tail ``e**(-x*x/2) * M(x)``, a table of M |
| gelu_tanh | ``x / (1 + 2**-(x * s(x)))``, s of degree 2, by the tables of silu |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from stepgen.ir.errors import StepError
from stepgen.semantics.numbers import MANTISSA, Array, canonical, name_of, round_to
from stepgen.semantics.piecewise import PRECISION, Ints, Precision, Table

MAX_ULP: Final = {
    "exp": {"bf16": 0.52, "f32": 0.55},
    "reciprocal": {"bf16": 0.52, "f32": 0.60},
    "div": {"bf16": 0.53, "f32": 0.62},
    "sqrt": {"bf16": 0.52, "f32": 0.53},
    "rsqrt": {"bf16": 0.52, "f32": 0.57},
    "tanh": {"bf16": 0.52, "f32": 0.57},
    "silu": {"bf16": 0.53, "f32": 0.62},
    "gelu": {"bf16": 0.53, "f32": 0.62},
    "gelu_tanh": {"bf16": 0.52, "f32": 0.62},
}
"""Largest error in units in the last place, per function and format."""

OCTAVES: Final = 5
"""Octaves up to 16: beyond, tanh is 1 and the tail of gelu is flushed."""
POWER_BITS: Final = 8
"""Bits of a power of two's whole part: 2**256 is an infinity, 2**-256 is zero also in a sum."""
FACTOR_BITS: Final = 36
"""Most bits of a factor of log2(e)."""


@dataclass(frozen=True)
class Parts:
    """Numbers as ``sign * mantissa * 2**(exponent - bits)``, mantissa in [1, 2)."""

    negative: npt.NDArray[np.bool_]
    mantissa: Ints
    exponent: Ints
    bits: int

    def fixed(self, fraction: int) -> Ints:
        """Return the magnitudes in fixed point, floored; for magnitudes below 2**24."""
        shift = np.clip(self.exponent, -64, 24) - self.bits + fraction
        left = self.mantissa << np.clip(shift, 0, 62)
        return np.where(shift >= 0, left, self.mantissa >> np.clip(-shift, 0, 63))


def take_apart(x: Array) -> Parts:
    """Split canonical numbers; the caller handles zeros, infinities and NaNs."""
    name = name_of(x)
    bits = np.ascontiguousarray(x, dtype=np.float32).view(np.uint32).astype(np.int64)
    mantissa = ((bits & 0x7FFFFF) | 0x800000) >> (23 - MANTISSA[name])
    return Parts((bits >> 31) == 1, mantissa, ((bits >> 23) & 0xFF) - 127, MANTISSA[name])


def put_together(negative: Array, mantissa: Ints, exponent: Ints, bits: int) -> Array:
    """Return ``±mantissa * 2**(exponent - bits)`` as doubles ready for one rounding.

    Of mantissas beyond 53 bits the low bits become a sticky bit, which does not change the rounding
    to f32.
    """
    wide = mantissa >= 1 << 53
    sticky = (mantissa >> 4) | ((mantissa & 15) != 0)
    exact = np.where(wide, sticky, mantissa).astype(np.float64)
    magnitude = np.ldexp(exact, (exponent - bits + 4 * wide).astype(np.int32))
    return np.where(negative, -magnitude, magnitude)


@cache
def table(function: str, name: str) -> Table:
    """Return the table `function` of the number format `name`."""
    from stepgen.semantics.exact import FUNCTIONS  # with mpmath, which takes a while to load

    return Table(FUNCTIONS[function], PRECISION[name])


@cache
def log2e(name: str) -> int:
    """log2(e) in ``PRECISION[name].log2e`` fraction bits."""
    import mpmath  # type: ignore[import-untyped]

    with mpmath.workprec(120):
        return int(mpmath.nint(2 ** PRECISION[name].log2e / mpmath.ln(2)))


@dataclass(frozen=True)
class Slope:
    """``log2(e) * 2 * sqrt(2 / pi) * (1 + 0.044715 * x * x)`` in fixed point, of gelu_tanh.

    Attributes
    ----------
    fraction : int
        Fraction bits of the slope; of numbers below 16 it has five bits more.
    level : int
        At 0, in `fraction` bits.
    bend, bend_fraction : int
        Factor of ``x * x``, and its fraction bits.
    """

    fraction: int
    level: int
    bend: int
    bend_fraction: int


@cache
def slope(name: str) -> Slope:
    """The slope in a number format: exact enough for the smallest results."""
    import mpmath

    bits = PRECISION[name].log2e
    fraction, bend_fraction = min(FACTOR_BITS - 5, bits + 3), min(FACTOR_BITS, bits + 4)
    with mpmath.workprec(120):
        level = 2 * mpmath.sqrt(2 / mpmath.pi) / mpmath.ln(2)
        bend = level * mpmath.mpf("0.044715")
        fixed = (int(mpmath.nint(v * 2**f)) for v, f in ((level, fraction), (bend, bend_fraction)))
        return Slope(fraction, next(fixed), next(fixed), bend_fraction)


def power(factor: Ints, exponent: Ints, bits: int, negative: Array, name: str) -> tuple[Ints, Ints]:
    """Return ``(n, m)`` with ``e**±x = m * 2**n``, m in [1, 2) in result bits.

    Parameters
    ----------
    factor, exponent : int64 arrays
        x is ``factor * 2**(exponent - bits)``. From an exponent of 7 on the result is that of the
        highest power.
    bits : int
        Fraction bits of `factor`, which has at most `FACTOR_BITS`.
    negative : bool array
        Where to take ``e**-x``: there the power of two is the ones' complement, which is less than
        the negative by its last place.
    name : str
        The number format.
    """
    precision = PRECISION[name]
    cut = bits + precision.log2e - precision.argument - np.minimum(exponent, 6)
    product = _shifted_product(factor, log2e(name), np.minimum(cut, 80))
    return _power_of_two(np.where(exponent >= 7, _highest(name), product), negative, name)


def _highest(name: str) -> int:
    """The highest power of two, in argument bits."""
    return (1 << (PRECISION[name].argument + POWER_BITS)) - 1


def _power_of_two(whole: Ints, negative: Array, name: str) -> tuple[Ints, Ints]:
    """As `power`, of powers in argument bits."""
    precision = PRECISION[name]
    whole = np.where(negative, ~whole, whole)
    inside = whole & ((1 << precision.argument) - 1)
    return whole >> precision.argument, table("exp2", name)(inside)


def _shifted_product(a: Ints, b: int, shift: Ints) -> Ints:
    """``floor(a * b / 2**shift)``; a product beyond 63 bits must be shifted by at least 18."""
    narrow = (a * b) >> np.minimum(shift, 18)
    wide = (a >> 18) * b + (((a & ((1 << 18) - 1)) * b) >> 18)
    return np.where(shift < 18, narrow, wide >> np.maximum(shift - 18, 0))


def _unit_fraction(parts: Parts, precision: Precision) -> Ints:
    """Mantissa minus 1, as an argument of a table."""
    return (parts.mantissa - (1 << parts.bits)) << (precision.argument - parts.bits)


def _finish(x: Array, y: Array, special: list[tuple[Array, Any]]) -> Array:
    """Insert special results where their conditions hold, then round; NaN gives NaN."""
    with np.errstate(all="ignore"):
        for where, what in special:
            y = np.where(where, what, y)
        return round_to(np.where(np.isnan(x.astype(np.float64)), np.nan, y), name_of(x))


def exp(x: Array) -> Array:
    """e**x."""
    x = canonical(x)
    name, parts = name_of(x), take_apart(x)
    n, m = power(parts.mantissa, parts.exponent, parts.bits, parts.negative, name)
    y = put_together(np.zeros_like(parts.negative), m, n, PRECISION[name].result)
    return _finish(x, y, [])


def reciprocal(x: Array) -> Array:
    """1 / x; an infinity for a zero, with its sign."""
    x = canonical(x)
    name, parts = name_of(x), take_apart(x)
    m = table("reciprocal", name)(_unit_fraction(parts, PRECISION[name]))
    y = put_together(parts.negative, m, -parts.exponent, PRECISION[name].result)
    sign = np.where(parts.negative, -1.0, 1.0)
    return _finish(x, y, [(x == 0, sign * np.inf), (np.isinf(x), sign * 0.0)])


def div(x: Array, y: Array) -> Array:
    """x / y as x times the tabulated reciprocal of y, rounded once; rows and columns broadcast."""
    x, y = np.broadcast_arrays(canonical(x), canonical(y))
    name, top, bottom = name_of(x), take_apart(x), take_apart(y)
    m = table("reciprocal", name)(_unit_fraction(bottom, PRECISION[name]))
    negative = top.negative ^ bottom.negative
    quotient = put_together(
        negative,
        top.mantissa * m,
        top.exponent - bottom.exponent,
        top.bits + PRECISION[name].result,
    )
    sign = np.where(negative, -1.0, 1.0)
    zero, infinite = x == 0, np.isinf(x)
    by_zero, by_infinite = y == 0, np.isinf(y)
    return _finish(
        np.where(np.isnan(y), y, x),
        quotient,
        [
            (zero | by_infinite, sign * 0.0),
            (infinite | by_zero, sign * np.inf),
            ((zero & by_zero) | (infinite & by_infinite), np.nan),
        ],
    )


def _root(
    x: Array, function: str, sign_of_exponent: int, special: list[tuple[Array, Any]]
) -> Array:
    name, parts = name_of(x), take_apart(x)
    argument = _unit_fraction(parts, PRECISION[name])
    odd = (parts.exponent & 1) == 1
    m = np.where(
        odd, table(f"{function}_odd", name)(argument), table(f"{function}_even", name)(argument)
    )
    half = sign_of_exponent * (parts.exponent >> 1)
    y = put_together(np.zeros_like(odd), m, half, PRECISION[name].result)
    return _finish(x, y, [((parts.negative) & (x != 0), np.nan), *special])


def sqrt(x: Array) -> Array:
    """Square root; NaN below zero."""
    x = canonical(x)
    wide = x.astype(np.float64)
    return _root(x, "sqrt", 1, [((x == 0) | (wide == np.inf), wide)])


def rsqrt(x: Array) -> Array:
    """1 / sqrt(x); an infinity for a zero, with its sign; NaN below zero."""
    x = canonical(x)
    wide = x.astype(np.float64)
    return _root(x, "rsqrt", -1, [(x == 0, np.copysign(np.inf, wide)), (wide == np.inf, 0.0)])


def tanh(x: Array) -> Array:
    """Hyperbolic tangent."""
    x = canonical(x)
    name, parts = name_of(x), take_apart(x)
    precision = PRECISION[name]
    m = table("tanh", name)(np.where(parts.exponent >= 4, 0, parts.fixed(precision.argument)))
    slope = parts.mantissa * m
    small = put_together(parts.negative, slope, parts.exponent, parts.bits + precision.result)
    large = put_together(parts.negative, m, np.zeros_like(m), precision.result)
    sign = np.where(parts.negative, -1.0, 1.0)
    y = np.where(parts.exponent < 0, small, large)
    return _finish(x, y, [(parts.exponent >= 4, sign)])


def _gate(x: Array, n: Ints, tail: Ints, share: Ints) -> Array:
    """Return ``x * share`` for x >= 0 and ``x * tail * 2**n`` below, both in result bits."""
    parts = take_apart(x)
    y = put_together(
        parts.negative,
        parts.mantissa * np.where(parts.negative, tail, share),
        parts.exponent + np.where(parts.negative, n, 0),
        parts.bits + PRECISION[name_of(x)].result,
    )
    return _finish(x, y, [])


def _by_logistic(x: Array, n: Ints, m: Ints) -> Array:
    """Return ``x / (1 + m * 2**n)`` for x >= 0 and ``x / (1 + 1 / (m * 2**n))`` below."""
    name = name_of(x)
    precision = PRECISION[name]
    small = (m >> np.minimum(-n, 62)) >> (precision.result - precision.argument)
    share = table("reciprocal", name)(small)
    return _gate(x, n, (share * m) >> precision.result, share)


def silu(x: Array) -> Array:
    """x * sigmoid(x), accurate to the last place far into the negative tail."""
    x = canonical(x)
    name, parts = name_of(x), take_apart(x)
    below = np.ones_like(parts.negative)
    return _by_logistic(x, *power(parts.mantissa, parts.exponent, parts.bits, below, name))


def gelu(x: Array) -> Array:
    """x * Phi(x) with the normal distribution's Phi (the exact GELU, not its tanh estimate)."""
    x = canonical(x)
    name, parts = name_of(x), take_apart(x)
    precision = PRECISION[name]
    far = parts.exponent >= 4
    # x * x / 2 has one fraction bit more than the square.
    cut = max(0, 2 * (parts.bits + 1) - FACTOR_BITS)
    square = (parts.mantissa * parts.mantissa) >> cut
    below = np.ones_like(parts.negative)
    exponent = np.where(far, 7, 2 * parts.exponent)
    n, m = power(square, exponent, 2 * parts.bits + 1 - cut, below, name)
    octave = np.clip(parts.exponent + 1, 0, OCTAVES - 1)
    mills = table("mills", name)(np.where(far, 0, parts.fixed(precision.argument)))
    tail, n = (mills * m) >> precision.result, n - octave - 1
    share = (1 << precision.result) - (tail >> np.minimum(-n, 62))
    return _gate(x, n, tail, share)


def gelu_tanh(x: Array) -> Array:
    """``x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))``."""
    x = canonical(x)
    name, parts = name_of(x), take_apart(x)
    precision, of = PRECISION[name], slope(name)
    cut = max(0, 2 * (parts.bits + 1) - FACTOR_BITS)
    square = (parts.mantissa * parts.mantissa) >> cut
    # Below 16, its octave is `behind` below the last one.
    behind = np.clip(3 - parts.exponent, 0, 40)
    down = 2 * parts.bits - cut - 6 + of.bend_fraction - of.fraction
    steep = of.level + _shifted_product(square, of.bend, down + 2 * behind)
    down = parts.bits - 3 + of.fraction - precision.argument
    whole = (parts.mantissa * steep) >> np.minimum(down + behind, 62)
    most = _highest(name)
    whole = np.where(parts.exponent >= 4, most, np.minimum(whole, most))
    return _by_logistic(x, *_power_of_two(whole, np.ones_like(parts.negative), name))


FUNCTIONS: Final[dict[str, Callable[[Array], Array]]] = {
    "exp": exp,
    "reciprocal": reciprocal,
    "sqrt": sqrt,
    "rsqrt": rsqrt,
    "tanh": tanh,
    "silu": silu,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
}
"""Functions of one argument, by name."""


def apply(function: str, x: Array) -> Array:
    """Apply a tabulated function by name.

    Raises
    ------
    StepError
        If the element type is not a floating-point format.
    """
    if name_of(x) not in MANTISSA:
        raise StepError(f"{function} works on bf16 and f32, not on {name_of(x)}")
    return FUNCTIONS[function](x)
