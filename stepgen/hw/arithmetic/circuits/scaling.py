"""Circuit of a scaling by a constant fraction: clamp, multiply, round, saturate."""

from amaranth.hdl import C, Cat

from ...primitives import Multiplier
from ..scaling import LOW_BITS, OUT_BITS, plan
from .integer import exceeds, saturated
from .stages import Stages

__all__ = ["requantize"]


def requantize(m, x, multiplier, shift):
    """``saturate(round(x * multiplier / 2**shift))``, ties to even."""
    how = plan(multiplier, shift)
    s = Stages(m)
    if how.multipliers:
        s.then(clamped=saturated(x, how.clamp_bits))
        _multiplied(m, s, how)
    else:
        s.let(scaled=(x << (how.factor.bit_length() - 1)).as_signed())
    value, shift = s.scaled, how.shift
    whole = (value >> shift).as_signed()
    up = value[shift - 1] & (value[: shift - 1].any() | whole[0]) if shift else C(0, 1)
    s.then(kept=saturated(whole, OUT_BITS), up=up, limited=exceeds(whole, OUT_BITS))
    most = s.kept == 2 ** (OUT_BITS - 1) - 1
    s.then(y=(s.kept + (s.up & ~s.limited & ~most))[:OUT_BITS])
    return s.y, s.count


def _multiplied(m, s, how):
    """The product with the factor; the upper part of a wide number is signed, the lower is not."""
    low_bits = 0 if how.multipliers == 1 else LOW_BITS
    parts = [s.clamped[low_bits:].as_signed()]
    if low_bits:
        parts.append(Cat(s.clamped[:low_bits], 0).as_signed())
    products = []
    for part in parts:
        multiplier = Multiplier(len(part), how.factor.bit_length() + 1)
        m.submodules += multiplier
        m.d.comb += [multiplier.a.eq(part), multiplier.b.eq(how.factor)]
        products.append(multiplier.product)
    s.wait(3)
    if low_bits:
        s.then(scaled=(products[0] << low_bits) + products[1])
    else:
        s.let(scaled=products[0])
