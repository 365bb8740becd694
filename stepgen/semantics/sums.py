"""Sums of products of bf16 that are rounded once, in the steps of the matrix unit, bit for bit.

A sum has one exponent: that of its largest product so far, the sum of the factors' exponents. A
product is exact in 16 bits; what lies more than `FRACTION` bits below the exponent is cut off, and
what was summed up before is cut likewise when the exponent grows. Sums of these integers are exact,
so there is neither a tree nor an order within a slice, and nothing is rounded or normalised before
the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from stepgen.semantics.numbers import Array, canonical, round_to, to_doubles

FRACTION: Final = 26
"""Bits below a sum's exponent; `python -m benchmarks sums` compares errors with fewer and more."""
PRODUCT_FRACTION: Final = 14
"""Bits below the point of a product of two mantissas in [1, 2)."""
BIAS: Final = 127
"""Of an exponent; that of a product has it twice."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Factors:
    """Canonical bf16 numbers in their parts.

    Attributes
    ----------
    mantissa : int32 array
        With sign and 7 bits below the point; 0 for zeros, infinities and NaN.
    exponent : int32 array
        With its bias; 0 for the same.
    numbers : float64 array
    """

    mantissa: npt.NDArray[np.int32]
    exponent: npt.NDArray[np.int32]
    numbers: npt.NDArray[np.float64]

    @classmethod
    def of(cls, x: Array) -> Factors:
        """Take numbers apart."""
        whole = np.ascontiguousarray(canonical(x))
        bits = whole.view(np.uint16).astype(np.int32)
        exponent = (bits >> 7) & 0xFF
        finite = (exponent != 0) & (exponent != 0xFF)
        magnitude = (bits & 0x7F) | 0x80
        mantissa = np.where(finite, np.where(bits >> 15, -magnitude, magnitude), 0)
        return cls(
            mantissa.astype(np.int32),
            np.where(finite, exponent, 0).astype(np.int32),
            whole.astype(np.float64),
        )


@dataclass(frozen=True)
class Sums:
    """Sums of products, one per element of a tile.

    Attributes
    ----------
    total : int64 array [M, N]
        In units of ``2**(exponent - 2 * BIAS - fraction)``.
    exponent : int32 array [M, N]
        0 if there was nothing but zeros.
    up, down : bool arrays [M, N]
        Whether there was an infinity of this sign; both for a NaN.
    fraction : int
        Bits below the exponent, 14 to 28.
    """

    total: Ints
    exponent: npt.NDArray[np.int32]
    up: npt.NDArray[np.bool_]
    down: npt.NDArray[np.bool_]
    fraction: int = FRACTION

    @classmethod
    def of(cls, start: Array, fraction: int = FRACTION) -> Sums:
        """Sums that begin with the numbers of an f32 array [M, N]."""
        start = canonical(start)
        bits = np.ascontiguousarray(start).view(np.uint32).astype(np.int64)
        exponent = (bits >> 23) & 0xFF
        finite = (exponent != 0) & (exponent != 0xFF)
        magnitude = ((bits & 0x7FFFFF) | 0x800000) << fraction >> 23
        total = np.where(finite, np.where(bits >> 31, -magnitude, magnitude), 0)
        nan = np.isnan(start)
        return cls(
            total,
            np.where(finite, exponent + BIAS, 0).astype(np.int32),
            nan | (start == np.inf),
            nan | (start == -np.inf),
            fraction,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return self.total.shape

    def plus(self, a: Array, b: Array, lanes: int) -> Sums:
        """The sums and the products ``a @ b``, slice after slice of `lanes` lanes.

        Parameters
        ----------
        a : bf16 array [M, K]
        b : bf16 array [K, N]
        lanes : int
            Lanes L of a slice along K: it meets the exponent as its largest product leaves it.
        """
        x, w = Factors.of(a), Factors.of(b)
        total, exponent, up, down = self.total, self.exponent, self.up, self.down
        for k in range(0, a.shape[1], lanes):
            part = slice(k, k + lanes)
            product = x.mantissa.T[part, :, None] * w.mantissa[part, None, :]
            reach = x.exponent.T[part, :, None] + w.exponent[part, None, :]
            reach[product == 0] = 0
            new = np.maximum(exponent, reach.max(axis=0))
            aligned = np.abs(product) << self.fraction - PRODUCT_FRACTION
            aligned >>= np.minimum(new - reach, 31)
            negative = -(product < 0).astype(np.int32)
            total = total >> np.minimum(new - exponent, 63)
            total += ((aligned ^ negative) - negative).sum(axis=0, dtype=np.int64)
            exponent = new
        if not (np.isfinite(x.numbers).all() and np.isfinite(w.numbers).all()):
            with np.errstate(invalid="ignore"):
                every = x.numbers[:, None, :] * w.numbers.T
            nan = np.isnan(every)
            up = up | (nan | (every == np.inf)).any(axis=2)
            down = down | (nan | (every == -np.inf)).any(axis=2)
        return Sums(total, exponent, up, down, self.fraction)

    def rounded(self) -> Array:
        """The numbers in f32, rounded once; a sum of nothing is +0."""
        unit = self.exponent - 2 * BIAS - self.fraction
        exact = np.ldexp(to_doubles(self.total), unit)
        exact = np.where(self.up, np.where(self.down, np.nan, np.inf), exact)
        return round_to(np.where(self.down & ~self.up, -np.inf, exact), "f32")
