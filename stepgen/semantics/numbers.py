"""Number formats and arithmetic, common to arithmetic units and the reference, bit for bit.

Floating point rounds to nearest even; a result that is subnormal *after* rounding to the format's
width is flushed to zero with its sign; subnormal operands count as zero; there is one NaN.
Integers wrap around (two's complement). Sums run in a fixed order: a balanced tree of adjacent
pairs over the L lanes of a slice, then the slices one after the other onto an accumulator. Products
of bf16 are added up as `stepgen.semantics.sums` describes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import ml_dtypes
import numpy as np
import numpy.typing as npt

from stepgen.ir.errors import StepError

Array = npt.NDArray[Any]

bfloat16: Final = np.dtype(ml_dtypes.bfloat16)
DTYPES: Final[dict[str, np.dtype[Any]]] = {
    "int8": np.dtype(np.int8),
    "int16": np.dtype(np.int16),
    "int32": np.dtype(np.int32),
    "bf16": bfloat16,
    "f32": np.dtype(np.float32),
    "bool": np.dtype(np.bool_),
    "address": np.dtype(np.uint64),
}
"""numpy's type of each element type, by name."""

NAMES: Final = {dtype: name for name, dtype in DTYPES.items()}
SMALLEST: Final = 2.0**-126
"""Smallest number that is not flushed; bf16 and f32 share their exponents."""
MANTISSA: Final = {"bf16": 7, "f32": 23}
"""Stored mantissa bits."""
_NAN: Final = {
    "bf16": np.array(0x7FC0, np.uint16).view(bfloat16),
    "f32": np.array(0x7FC00000, np.uint32).view(np.float32),
}


def from_file(x: Array) -> Array:
    """An array as it was before numpy wrote it; types that its files lack come back as bytes.

    These are bf16, and int4 of ml_dtypes, with zeros above its four bits.
    """
    if x.dtype == np.dtype("V2"):
        return x.view(bfloat16)
    if x.dtype == np.dtype("V1") and (x.view(np.uint8) < 16).all():
        return np.asarray(x.view(ml_dtypes.int4), np.int8)
    return x


def name_of(x: Array) -> str:
    """Return the name of an array's element type.

    Raises
    ------
    StepError
        If it is none of stepgen's.
    """
    try:
        return NAMES[x.dtype]
    except KeyError:
        raise StepError(
            f"{x.dtype} is not an element type; there are {', '.join(DTYPES)}"
        ) from None


def is_float(name: str) -> bool:
    """Tell whether `name` is a floating-point format."""
    return name in MANTISSA


def round_to(x: npt.NDArray[np.float64], name: str) -> Array:
    """Round exact (or innocuously rounded) doubles to a floating-point format.

    Parameters
    ----------
    x : float64 array
        Doubles represent products of two f32 exactly, and rounding their sums, quotients and roots
        twice is correct, since ``53 >= 2 * 24 + 2``.
    name : str
        ``"bf16"`` or ``"f32"``.

    Returns
    -------
    array
        Canonical numbers of the format.
    """
    x = np.asarray(x, dtype=np.float64, order="C")  # ascontiguousarray would make a number a row
    drop = 52 - MANTISSA[name]
    bits = x.view(np.uint64)
    even = (bits >> np.uint64(drop)) & np.uint64(1)
    bits = (bits + even + np.uint64((1 << (drop - 1)) - 1)) & np.uint64(-(1 << drop) % (1 << 64))
    y = bits.view(np.float64)
    y = np.where(np.abs(y) < SMALLEST, np.copysign(0.0, x), y)
    with np.errstate(all="ignore"):
        # Values that rounded up to 2**128 or more become an infinity here.
        narrow: Array = y.astype(np.float32).astype(DTYPES[name])
    narrow[np.isnan(x)] = _NAN[name]
    return narrow


def canonical(x: Array) -> Array:
    """Flush subnormals and unify NaNs; integers and booleans are returned unchanged."""
    name = name_of(x)
    if not is_float(name):
        return x
    wide = x.astype(np.float32)
    odd = (np.abs(wide) < SMALLEST) & (wide != 0)
    nan = np.isnan(wide)
    if not (odd.any() or nan.any()):
        return x
    wide = np.where(odd, np.copysign(np.float32(0), wide), np.where(nan, 0, wide))
    out: Array = wide.astype(x.dtype)
    out[nan] = _NAN[name]
    return out


def as_element(data: Any, name: str, what: str = "value") -> Array:
    """Turn a user's numbers into canonical elements of type `name`, of the shape given.

    Floating-point elements are rounded once, to nearest even; integers and booleans must be exact.

    Raises
    ------
    StepError
        If a number is not representable or the data are not numbers; `what` names them.
    """
    raw = _numbers(data, what)
    dtype = DTYPES[name]
    if raw.dtype == dtype:
        return canonical(raw)
    if raw.dtype.kind not in "biu":
        raw = _doubles(raw, what)
    if is_float(name):
        with np.errstate(all="ignore"):
            return round_to(to_doubles(raw), name)
    if name == "bool":
        if raw.size and not np.isin(raw, (0, 1)).all():
            raise StepError(f"{what} holds something else than booleans")
        return raw.astype(np.bool_)
    info = np.iinfo(dtype)
    if raw.size:
        if raw.dtype.kind == "f":
            if not np.isfinite(raw).all():
                strange = raw[~np.isfinite(raw)].flat[0]
                raise StepError(f"{what} holds {strange}, but its element type is {name}")
            if not (raw == np.rint(raw)).all():
                raise StepError(f"{what} holds fractions, but its element type is {name}")
        low, high = int(raw.min()), int(raw.max())
        if low < info.min or high > info.max:
            raise StepError(
                f"{what} holds {low if low < info.min else high}, which does not fit into {name}"
            )
    return raw.astype(dtype)


def _numbers(data: Any, what: str) -> Array:
    """An array of booleans, integers or floats of any width."""
    try:
        raw = from_file(np.asarray(data))
    except (ValueError, TypeError, RuntimeError):
        raise StepError(f"{what} is not a regular array of numbers") from None
    if raw.dtype == float and not isinstance(data, np.ndarray) and (abs(raw) >= 2**53).any():
        exact = np.array(data, dtype=object)  # numpy makes doubles of both 1 and 2**63 in a list
        raw = exact if all(isinstance(v, int | np.integer) for v in exact.flat) else raw
    if raw.dtype == object and raw.size and all(isinstance(v, int | np.integer) for v in raw.flat):
        low, high = int(min(raw.flat)), int(max(raw.flat))
        kind = np.uint64 if low >= 0 else np.int64
        info = np.iinfo(kind)
        if low < info.min or high > info.max:
            wide = max(low.bit_length(), high.bit_length())
            raise StepError(
                f"{what} holds an integer of {wide} bits, at most 64 can be"
                if wide > info.bits
                else f"{what} holds {low} and {high}, which no integer type has both"
            )
        raw = raw.astype(kind)
    if raw.dtype.kind not in "biuf" and raw.dtype != bfloat16:
        raise StepError(f"{what} is not a regular array of numbers, it holds {raw.dtype}")
    if hasattr(data, "mask") and np.ma.is_masked(data):  # `np.ma` takes a while to load
        raise StepError(f"{what} is a masked array with missing numbers")
    return raw


def _doubles(raw: Array, what: str) -> Array:
    with np.errstate(invalid="ignore"):  # of signalling NaNs
        wide = raw.astype(np.float64)
    if raw.dtype.itemsize > 8 and not np.array_equal(wide.astype(raw.dtype), raw, equal_nan=True):
        raise StepError(f"{what} holds numbers that are not doubles, round them to float64 first")
    return wide


def to_doubles(raw: Array) -> npt.NDArray[np.float64]:
    """Doubles that round to a shorter format as the given integers do: the last bit is sticky."""
    if raw.dtype.kind == "f" or raw.dtype.itemsize < 8:
        return raw.astype(np.float64)
    cut = (raw & 2047) != 0
    return np.where(
        np.abs(raw.astype(np.float64)) < 2.0**53,
        raw.astype(np.float64),
        ((raw >> 11) | cut).astype(np.float64) * 2048,
    )


def wrap(x: Array, name: str) -> Array:
    """Reduce integers modulo 2**bits into the integer type `name`."""
    return x.astype(np.int64).astype(DTYPES[name])


def saturate(x: Array, name: str) -> Array:
    """Clip integers into the range of the integer type `name`."""
    info = np.iinfo(DTYPES[name])
    return np.clip(x, info.min, min(info.max, 2**63 - 1)).astype(DTYPES[name])


def lowest(name: str) -> Any:
    """Lowest number of a type: minus infinity for floats."""
    return -np.inf if is_float(name) else np.iinfo(DTYPES[name]).min


def highest(name: str) -> Any:
    """Highest number of a type: infinity for floats."""
    return np.inf if is_float(name) else np.iinfo(DTYPES[name]).max


def shift_round(x: npt.NDArray[np.int64], shift: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Divide integers by ``2**shift``, rounding to nearest even."""
    by = np.asarray(shift, np.int64)
    floor = x >> by
    twice_rest = (x - (floor << by)) << 1
    one = np.int64(1) << by
    up = (twice_rest > one) | ((twice_rest == one) & (floor & 1 == 1))
    rounded: npt.NDArray[np.int64] = floor + up
    return rounded


def convert(x: Array, name: str) -> Array:
    """Convert numbers to another type.

    Floats round to nearest even when converted to a narrower float or an integer; integers
    saturate; a NaN becomes integer 0; a boolean is 0 or 1; nonzero numbers become True.
    """
    source = name_of(x)
    if source == name:
        return canonical(x)
    if name == "bool":
        return np.asarray(canonical(x) != 0)
    if is_float(name):
        return round_to(canonical(x).astype(np.float64), name)
    if is_float(source):
        return _whole(x.astype(np.float64), name)
    if source == "address":
        x = np.minimum(x, np.uint64(1 << 62))
    return saturate(x.astype(np.int64), name)


def convert_places(x: Array, name: str, places: int) -> Array:
    """As `convert`, between floats and integers that count ``2**-places``, scaled without rounding.

    Places are few enough that no float of an integer is too large or too small.
    """
    if is_float(name):
        return round_to(np.ldexp(x.astype(np.float64), -places), name)
    return _whole(np.ldexp(x.astype(np.float64), places), name)


def _whole(x: npt.NDArray[np.float64], name: str) -> Array:
    far = 2.0**62
    whole = np.clip(np.rint(np.nan_to_num(x, nan=0.0)), -far, far)
    return saturate(whole.astype(np.int64), name)


def constant(number: float, name: str) -> Array:
    """A constant of a program as a 1x1 tile of type `name`; integers wrap around."""
    if is_float(name):
        return as_element([[number]], name)
    if name == "address":
        return np.array([[int(number)]], object)
    return np.array([[int(number)]], np.int64)


def elementwise(fn: Callable[..., Any], out: str, *xs: Array) -> Array:
    """Apply `fn` exactly and convert the result to type `out`, broadcasting rows and columns.

    Parameters
    ----------
    fn : callable
        Takes int64 or float64 arrays; on doubles its result must be exact or correctly rounded.
    out : str
        Element type of the result: integers wrap, floats round, addresses must be addresses.
    *xs : arrays
        Operands, all integer or all floating point.

    Raises
    ------
    StepError
        If what is made of addresses is none.
    """
    if is_float(out):
        with np.errstate(all="ignore"):
            wide = [canonical(x).astype(np.float64) for x in xs]
            return round_to(np.asarray(fn(*wide)), out)
    if out == "address":
        given = np.broadcast_arrays(*[x.astype(object) for x in xs])
        made = np.asarray(fn(*given), object)
        for place in np.argwhere((made < 0) | (made >= 1 << 64))[:1]:
            operands = " and ".join(str(x[tuple(place)]) for x in given)
            raise StepError(
                f"{operands} make {made[tuple(place)]}, but addresses are 0 to {(1 << 64) - 1}"
            )
        return made.astype(np.uint64)
    return wrap(np.asarray(fn(*[x.astype(np.int64) for x in xs])), out)


def add(a: Array, b: Array, out: str) -> Array:
    """Sum in type `out`."""
    if out == "f32" and a.dtype == b.dtype == np.float32:
        # The sum of two normal numbers is exact where it is subnormal, so flushing suffices.
        with np.errstate(all="ignore"):
            return canonical(canonical(a) + canonical(b))
    return elementwise(np.add, out, a, b)


def multiply(a: Array, b: Array, out: str) -> Array:
    """Product in type `out`."""
    return elementwise(np.multiply, out, a, b)


def negate(x: Array) -> Array:
    """Minus a number; integers wrap around."""
    return canonical(-x)


def ordered(x: Array) -> npt.NDArray[np.integer[Any]]:
    """Map numbers to integers of the same order, with -0 below +0 (floats must not be NaN)."""
    if not is_float(name_of(x)):
        return x if x.dtype == np.uint64 else x.astype(np.int64)
    bits = np.ascontiguousarray(canonical(x), dtype=np.float32).view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF) - 1, bits)


def maximum(a: Array, b: Array) -> Array:
    """Larger of two; -0 is less than +0, and NaN if one is NaN."""
    return _select(a, b, ordered(a) >= ordered(b))


def minimum(a: Array, b: Array) -> Array:
    """Smaller of two; -0 is less than +0, and NaN if one is NaN."""
    return _select(a, b, ordered(a) <= ordered(b))


def _select(a: Array, b: Array, first: Array) -> Array:
    a, b = np.broadcast_arrays(canonical(a), canonical(b))
    out: Array = np.where(first, a, b)
    name = name_of(out)
    if is_float(name):
        nan = np.isnan(a.astype(np.float32)) | np.isnan(b.astype(np.float32))
        out[nan] = _NAN[name]
    return out


def tree_sum(x: Array, axis: int = -1) -> Array:
    """Sum along an axis as a balanced tree of adjacent pairs, in the type of `x`.

    If the number is not a power of two, the missing lanes are left out of the tree.
    """
    x = np.moveaxis(x, axis, 0)
    name = name_of(x)
    while len(x) > 1:
        pairs = add(x[0 : len(x) // 2 * 2 : 2], x[1::2], name)
        x = np.concatenate([pairs, x[-1:]]) if len(x) % 2 else pairs
    total: Array = x[0]
    return total


def matmul(a: Array, b: Array, lanes: int, start: Array) -> Array:
    """Return ``start + a @ b`` in the order of a matrix unit of `lanes` lanes.

    Parameters
    ----------
    a : array of shape [M, K]
    b : array of shape [K, N]
    lanes : int
        Lanes L of a slice along K.
    start : array of shape [M, N]
        ``int32`` where `a` and `b` are integers; ``f32`` where they are ``f32``.

    Returns
    -------
    array of shape [M, N]
        In the type of `start`.
    """
    if not is_float(name_of(a)):
        # Sums of products of up to 2**30 are exact in doubles, and BLAS is fast.
        if a.itemsize == b.itemsize <= 2 and a.shape[1] < 2**23:
            exact = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64)
        else:
            exact = a.astype(np.int64) @ b.astype(np.int64)
        return wrap(exact + start.astype(np.int64), name_of(start))
    wide_a, wide_b = canonical(a).astype(np.float32), canonical(b).astype(np.float32)
    for k in range(0, a.shape[1], lanes):
        left, right = wide_a[:, k : k + lanes].T, wide_b[k : k + lanes]
        products = _f32_products(left[:, :, None], right[:, None, :])
        start = add(start, tree_sum(products, axis=0), "f32")
    return start


def _f32_products(a: Array, b: Array) -> Array:
    """Products in f32; native multiplication is correct except near the flushing threshold."""
    with np.errstate(all="ignore"):
        fast = a * b
    if (np.abs(fast) <= SMALLEST).any():
        return multiply(a, b, "f32")
    return canonical(fast)
