"""Circuits of conversions between element types."""

from amaranth.hdl import C, Cat, Mux

from stepgen.hw.arithmetic.circuits.floating import (
    BIAS,
    EXPONENT_BITS,
    Parts,
    leading_zeros,
    shifted_left,
    shifted_right,
)
from stepgen.hw.arithmetic.circuits.integer import saturated
from stepgen.hw.arithmetic.circuits.stages import Stages
from stepgen.hw.arithmetic.operations import MANTISSA_BITS

__all__ = ["convert", "convert_unsigned"]


def convert(m, x, of, to, places=0):
    """The number as one of another type, with the stages that it takes.

    Places are those of an integer whose counterpart is a float: its exponent counts from them.
    """
    if of == to:
        return x, 0
    if of.name == "bool":
        one = BIAS << MANTISSA_BITS[to] if to in MANTISSA_BITS else 1
        return Mux(x, C(one, to.bits), 0), 0
    if of in MANTISSA_BITS and to in MANTISSA_BITS:
        return _widened(x, to) if to.bits > of.bits else _narrowed(m, x, to)
    if of in MANTISSA_BITS:
        return _to_integer(m, x, MANTISSA_BITS[of], to.bits, places)
    if to in MANTISSA_BITS:
        return _to_float(m, x, MANTISSA_BITS[to], places)
    return _resized(m, x.as_signed(), to.bits)


def convert_unsigned(m, x, to):
    """A number without a sign as one of another type, which saturates, and the stages."""
    if to in MANTISSA_BITS:
        return _to_float(m, Cat(x, C(0, 1)), MANTISSA_BITS[to])
    s, positive = Stages(m), to.bits - 1
    s.then(y=Mux(x[positive:].any(), C((1 << positive) - 1, to.bits), x[: to.bits]))
    return s.y, s.count


def _resized(m, x, bits):
    s = Stages(m)
    if bits >= len(x):
        return Cat(x, x[-1].replicate(bits - len(x))), 0
    s.then(y=saturated(x, bits))
    return s.y, s.count


def _widened(x, to):
    """More mantissa bits."""
    return Cat(C(0, to.bits - len(x)), x), 0


def _narrowed(m, x, to):
    """Fewer mantissa bits; rounding up runs into the exponent and into infinity."""
    s = Stages(m)
    cut = len(x) - to.bits
    kept, guard, rest = x[cut:], x[cut - 1], x[: cut - 1]
    s.then(y=(kept + (guard & (rest.any() | kept[0])))[: to.bits])
    return s.y, s.count


def _to_integer(m, x, stored, bits, places):
    """The nearest integer: the mantissa, shifted right by what is missing in the exponent."""
    x = Parts(x)
    fraction = max(2, stored + 2 - bits)
    start = Cat(C(0, bits + fraction - stored - 1), x.whole)
    reach = (bits + 1).bit_length()
    missing = BIAS + bits - 1 - places - x.exponent
    steps = range(reach - 1, -1, -1)

    s = Stages(m, sign=x.sign, nan=x.nan)
    s.then(
        value=start,
        distance=Mux(missing > bits + 1, bits + 1, missing)[:reach],
        over=(missing <= 0) & ~x.nan,
    )
    s.then(value=shifted_right(s.value, s.distance, [k for k in steps if k >= reach // 2]))
    s.then(value=shifted_right(s.value, s.distance, [k for k in steps if k < reach // 2]))
    whole, guard, rest = s.value[fraction:], s.value[fraction - 1], s.value[: fraction - 1]
    s.then(magnitude=whole + (guard & (rest.any() | whole[0])))
    # With the sign, the lowest integer is one further from zero than the highest.
    over = s.over | s.magnitude[bits - 1 :].any()
    limit = Cat((~s.sign).replicate(bits - 1), s.sign)
    signed = Mux(s.sign, -s.magnitude, s.magnitude)[:bits]
    s.then(y=Mux(s.nan, 0, Mux(over, limit, signed)))
    return s.y, s.count


def _to_float(m, x, stored, places=0):
    """The nearest number: the magnitude without leading zeros."""
    bits = len(x)
    s = Stages(m, sign=x[-1])
    s.then(value=Mux(s.sign, -x.as_signed(), x)[:bits])
    s.then(zeros=leading_zeros(m, s.value), none=~s.value.any())
    steps = range(len(s.zeros) - 1, -1, -1)
    half = len(steps) // 2
    s.then(value=shifted_left(s.value, s.zeros, [k for k in steps if k >= half]))
    # The highest bit is the hidden one.
    s.then(
        fraction=shifted_left(s.value, s.zeros, [k for k in steps if k < half])[: bits - 1],
        exponent=(BIAS + bits - 1 - places - s.zeros)[:EXPONENT_BITS],
    )
    padded = Cat(C(0, max(0, stored + 3 - bits)), s.fraction)
    kept, guard, rest = padded[-stored:], padded[-1 - stored], padded[: -1 - stored]
    number = (Cat(kept, s.exponent) + (guard & (rest.any() | kept[0])))[: stored + 8]
    s.then(y=Cat(Mux(s.none, 0, number), s.sign))
    return s.y, s.count
