"""Circuits of a scaling by a fraction: multiply, shift, round, saturate."""

from amaranth.hdl import C, Cat, Mux

from stepgen.hw.arithmetic.circuits.integer import exceeds, saturated
from stepgen.hw.arithmetic.circuits.product import product
from stepgen.hw.arithmetic.circuits.stages import Stages
from stepgen.hw.arithmetic.scaling import LOW_BITS, MULTIPLIER_BITS, SHIFT_BITS, plan
from stepgen.hw.primitives import Multiplier

__all__ = ["requantize", "requantize_by"]

WINDOW_BITS = 1 + 7
"""Beside a result: half of its last place, and what shifts of up to 7 drop."""


def requantize(m, x, multiplier, shift, bits):
    """``saturate(round(x * multiplier / 2**shift))`` in so many bits, ties to even."""
    how = plan(multiplier, shift, bits)
    s = Stages(m)
    if how.multipliers:
        s.then(clamped=saturated(x, how.clamp_bits))
        _multiplied(m, s, how)
    else:
        s.let(scaled=(x << (how.factor.bit_length() - 1)).as_signed())
    value, shift = s.scaled, how.shift
    whole = (value >> shift).as_signed()
    up = value[shift - 1] & (value[: shift - 1].any() | whole[0]) if shift else C(0, 1)
    s.then(kept=saturated(whole, bits), up=up, limited=exceeds(whole, bits))
    most = s.kept == 2 ** (bits - 1) - 1
    s.then(y=(s.kept + (s.up & ~s.limited & ~most))[:bits])
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


def requantize_by(m, x, multiplier, shift, bits):
    """The same of a multiplier and a shift that are not constants: their lower bits, without sign.

    The shift passes on a window of the product, its lowest bit half of the result's last place. Of
    bits above the window only counts whether one differs from the sign, of those below it whether
    one is set.
    """
    s = Stages(m, shift=shift[:SHIFT_BITS])
    width = WINDOW_BITS + bits
    value = product(m, s, x, multiplier[:MULTIPLIER_BITS])
    halves = Cat(C(0, 1), value)
    w0, w8, w16, w24 = (halves[k:][:width] for k in (0, 8, 16, 24))
    above = [value[k + width - 2 :][:9] for k in (0, 8, 16, 24)]
    s.then(
        window=Mux(s.shift[4], Mux(s.shift[3], w24, w16), Mux(s.shift[3], w8, w0)),
        above=Cat(part.any() & ~part.all() for part in above),
        below=Cat(part.any() for part in (value[:7], value[7:15], value[15:23])),
        sign=value[-1],
    )
    passed = Cat(s.shift[3:5].any(), s.shift[4], s.shift[3:5].all())  # 8, 16, 24 places
    s.let(
        over=(s.above & Cat(~passed, C(1, 1))).any(),
        inexact=(s.below & passed).any(),
    )
    _narrowed(s, 2)
    s.then(window=s.window, over=s.over, inexact=s.inexact)
    _narrowed(s, 1)
    _narrowed(s, 0)
    s.then(window=s.window, over=s.over, inexact=s.inexact)
    whole = s.window[1:]
    limit = Cat((~s.sign).replicate(bits - 1), s.sign)
    s.then(
        kept=Mux(s.over, limit, whole),
        up=s.window[0] & (s.inexact | whole[0]) & ~s.over,
    )
    most = s.kept == 2 ** (bits - 1) - 1
    s.then(y=(s.kept + (s.up & ~most))[:bits])
    return s.y, s.count


def _narrowed(s, bit):
    """The window shifted by a bit of the shift, without what it is not shifted by."""
    by = 1 << bit
    shifted, left = s.shift[bit], len(s.window) - by
    s.let(
        over=s.over | (~shifted & exceeds(s.window, left)),
        inexact=s.inexact | (shifted & s.window[:by].any()),
        window=Mux(shifted, s.window[by:], s.window[:left]),
    )
