"""Circuits of elementary functions: the integer algorithms of `stepgen.semantics.tables`."""

from amaranth.hdl import C, Cat, Mux

from stepgen.hw.arithmetic.circuits.floating import (
    BIAS,
    EXPONENT_BITS,
    Parts,
    normalised,
    packed,
    rounded,
)
from stepgen.hw.arithmetic.circuits.polynomial import looked_up, polynomial
from stepgen.hw.arithmetic.circuits.product import product
from stepgen.hw.arithmetic.circuits.stages import Stages
from stepgen.hw.arithmetic.operations import MANTISSA_BITS
from stepgen.hw.arithmetic.tabulated import (
    FACTOR_BITS,
    LAST_OCTAVE,
    POWER_BITS,
    coefficients,
    log2e,
    of_divisor,
    of_mantissa,
    precision,
    slope,
)
from stepgen.hw.design.stages import MULTIPLIER_BITS
from stepgen.ir.dtypes import bf16

__all__ = ["tabulated"]


def tabulated(m, name, of, *operands):
    """A function of numbers of type `of`, with the stages that it takes."""
    return FUNCTIONS[name](m, of, *(Parts(x) for x in operands))


def _exp(m, of, x):
    stored, result = MANTISSA_BITS[of], precision(of).result
    s = Stages(m, sign=x.sign, nan=x.nan)
    _power(m, s, of, x.whole, stored, BIAS + 6 - x.exponent, fine=3)
    scale, inside = (part ^ s.sign.replicate(len(part)) for part in (s.scale, s.inside))
    s.let(exponent=(Cat(scale, s.sign).as_signed() + BIAS).as_signed())
    value = polynomial(m, s, coefficients(of, "exp2"), *_segment(of, inside))
    s.let(top=value[: result + 1], carry=C(0, 1))
    s.let(sign=C(0, 1), infinite=C(0, 1), none=C(0, 1))
    return rounded(s, stored)


def _reciprocal(m, of, x):
    s = Stages(m, sign=x.sign, nan=x.nan, infinite=x.zero, none=x.special)
    s.let(exponent=(2 * BIAS - x.exponent).as_signed())
    return _of_mantissa(m, s, of, of_mantissa(of, "reciprocal"), x.mantissa, places=2)


def _sqrt(m, of, x):
    s = _root(m, x)
    s.let(infinite=x.special, none=x.zero, exponent=_half(x))
    table = of_mantissa(of, "sqrt_even", "sqrt_odd")
    return _of_mantissa(m, s, of, table, Cat(x.mantissa, ~x.exponent[0]), places=1)


def _rsqrt(m, of, x):
    s = _root(m, x)
    s.let(infinite=x.zero, none=x.special, exponent=(2 * BIAS - _half(x)).as_signed())
    table = of_mantissa(of, "rsqrt_even", "rsqrt_odd")
    return _of_mantissa(m, s, of, table, Cat(x.mantissa, ~x.exponent[0]), places=2)


def _root(m, x):
    """Stages with what all roots have: those of negative numbers are NaN, zeros keep their sign."""
    return Stages(m, sign=x.sign & x.zero, nan=x.nan | (x.sign & ~x.zero))


def _half(x):
    """The exponent of a root."""
    return ((x.exponent + BIAS) >> 1).as_signed()


def _of_mantissa(m, s, of, contents, argument, places):
    """The result, of a table with a row for each mantissa or of a polynomial.

    Stages `s` hold its exponent for a mantissa of 1, and what `packed` needs.
    """
    stored, result = MANTISSA_BITS[of], precision(of).result
    if of == bf16:
        (row,) = looked_up(m, s, contents, argument)
        s.then(number=(Cat(C(0, stored), s.exponent).as_signed() + row).as_signed())
        return packed(s, stored)
    value = polynomial(m, s, contents, *_segment(of, argument, stored))
    _finished(s, value[: result + 1], result, places, stored)
    return rounded(s, stored)


def _finished(s, value, fraction, places, stored):
    if places == 1:
        s.let(top=value, carry=C(0, 1))
    else:
        normalised(s, value, fraction, places, stored)


def _divide(m, of, x, y):
    stored, result = MANTISSA_BITS[of], precision(of).result
    s = Stages(
        m,
        whole=x.whole,
        exponent=(x.exponent - y.exponent + BIAS).as_signed(),
        sign=x.sign ^ y.sign,
        none=x.zero | y.special,
        infinite=x.special | y.zero,
        nan=x.nan | y.nan | (x.zero & y.zero) | (x.special & y.special),
    )
    table = of_divisor(of)
    if of == bf16:
        (value,) = looked_up(m, s, table, y.mantissa)
    else:
        value = polynomial(m, s, table, *_segment(of, y.mantissa, stored))
    quotient = product(m, s, s.whole, value[: result + 1])
    return _rounded(s, quotient[:-1], of, places=2)


def _rounded(s, value, of, places):
    """The product of a mantissa and a number from a table, rounded."""
    stored = MANTISSA_BITS[of]
    normalised(s, value, stored + precision(of).result, places, stored)
    return rounded(s, stored)


def _tanh(m, of, x):
    s = Stages(m, sign=x.sign, nan=x.nan, infinite=C(0, 1), none=C(0, 1))
    below = x.exponent < BIAS
    s.let(
        whole=Mux(below, x.whole, 1 << MANTISSA_BITS[of]),
        exponent=Mux(below, x.exponent, BIAS).as_signed(),
    )
    _octave(s, of, x, one=x.exponent >= BIAS + LAST_OCTAVE)
    table = coefficients(of, "tanh")
    value = polynomial(m, s, table, *_segment(of, Cat(s.inside, s.octave), len(s.inside)))
    slope = product(m, s, s.whole, value[: precision(of).result + 1])
    return _rounded(s, slope[:-1], of, places=2)


def _silu(m, of, x):
    s = _gate(m, x)
    _power(m, s, of, x.whole, MANTISSA_BITS[of], BIAS + 6 - x.exponent, fine=3)
    return _by_logistic(m, s, of)


def _gelu_tanh(m, of, x):
    stored, table, constant = MANTISSA_BITS[of], precision(of), slope(of)
    s = _gate(m, x)
    s.let(distance=BIAS + 3 - x.exponent)
    square = product(m, s, x.whole, x.whole)
    cut = max(0, len(square) - FACTOR_BITS)
    bent = product(m, s, square[cut:], C(constant.bend, constant.bend.bit_length()))
    down = 2 * stored - cut - 6 + constant.bend_fraction - constant.fraction
    _shifted_right(s, "bent", bent[down:], s.distance[:-1], 2)
    s.then(steep=(s.bent + constant.level)[: constant.fraction + 5])
    power = product(m, s, s.whole, s.steep)[stored - 3 + constant.fraction - table.argument :]
    _shifted_right(s, "power", power, s.distance[:-1], 1)
    highest = s.distance[-1] | s.power[table.argument + POWER_BITS :].any()
    scale = s.power[table.argument : table.argument + POWER_BITS] | highest.replicate(POWER_BITS)
    s.let(inside=s.power[: table.argument], scale=scale)
    return _by_logistic(m, s, of)


def _by_logistic(m, s, of):
    """``x / (1 + 2**-p)``, of negative numbers ``x / (1 + 2**p)``; `s` holds the power p."""
    result = precision(of).result
    power = polynomial(m, s, coefficients(of, "exp2"), *_segment(of, ~s.inside))
    s.let(power=power[: result + 1])
    _shifted_right(s, "small", s.power[1:], s.scale, 1)
    share = polynomial(m, s, coefficients(of, "reciprocal"), *_segment(of, s.small))
    s.let(share=share[: result + 1])
    s.let(tail=product(m, s, s.share, s.power)[result:-1])
    return _gated(m, s, of, places=4)


def _gelu(m, of, x):
    stored, result = MANTISSA_BITS[of], precision(of).result
    s, beside = _gate(m, x), Stages(m)
    _octave(beside, of, x, one=C(0, 1))
    argument = _segment(of, Cat(beside.inside, beside.octave), len(beside.inside))
    mills = polynomial(m, beside, coefficients(of, "mills"), *argument)
    beside.let(mills=mills[: result + 1])
    s.let(distance=BIAS + 3 - x.exponent)
    square = product(m, s, x.whole, x.whole)
    cut = max(0, len(square) - FACTOR_BITS)
    fine = int(len(square) < MULTIPLIER_BITS)
    _power(m, s, of, square[cut:], 2 * stored + 1 - cut, s.distance, fine=fine, weight=2)
    power = polynomial(m, s, coefficients(of, "exp2"), *_segment(of, ~s.inside))
    s.let(power=power[: result + 1])
    s.join(beside)
    s.let(scale=s.scale + s.octave + 1)
    s.let(tail=product(m, s, s.mills, s.power)[result:])
    _shifted_right(s, "small", s.tail[1:], s.scale, 1)
    s.then(share=((1 << result) - s.small)[: result + 1])
    return _gated(m, s, of, places=4)


def _gate(m, x):
    """Stages with what a gate needs."""
    none = C(0, 1)
    return Stages(
        m, whole=x.whole, biased=x.exponent, sign=x.sign, nan=x.nan, infinite=none, none=none
    )


def _gated(m, s, of, places):
    """``x * share``, of negative numbers ``x * tail * 2**~scale``, rounded."""
    s.then(
        share=Mux(s.sign, s.tail, s.share),
        exponent=(s.biased + Mux(s.sign, Cat(~s.scale, C(1, 1)).as_signed(), 0)).as_signed(),
    )
    return _rounded(s, product(m, s, s.whole, s.share), of, places)


def _power(m, s, of, factor, bits, distance, *, fine, weight=1):
    """Registers ``scale`` and ``inside``, whole part and fraction of a factor times log2(e).

    Parameters
    ----------
    factor : Value
    bits : int
        Its fraction bits.
    distance : Value
        ``factor * 2**6`` is shifted right by `weight` times this; below 0 the whole part is the
        highest.
    fine : int
        Bits of the distance by which the factor is shifted, not the product.
    """
    table = precision(of)
    ahead = weight * ((1 << fine) - 1)
    wide = Cat(factor, C(0, ahead))
    for k in range(fine):
        wide = Mux(distance[k], wide, wide << (weight << k))[: len(factor) + ahead]
    s.then(factor=wide, distance=distance[fine:-1], highest=distance[-1])
    constant = log2e(of)
    power = product(m, s, s.factor, C(constant, constant.bit_length()))
    cut = bits + table.log2e - table.argument - 6 + ahead
    power = power[cut : cut + table.argument + POWER_BITS]
    _shifted_right(s, "power", power, s.distance, weight << fine)
    s.let(
        inside=s.power[: table.argument],
        scale=s.power[table.argument :] | s.highest.replicate(POWER_BITS),
    )


def _octave(s, of, x, *, one):
    """Registers ``inside``, the place in an ``octave`` of a table, both 0 where `one`."""
    stored, bits = MANTISSA_BITS[of], precision(of).argument
    below, behind = x.exponent < BIAS, x.exponent >= BIAS + LAST_OCTAVE - 1
    place = Mux(below, x.whole, Cat(C(0, 1), x.mantissa))
    octave = Mux(behind, LAST_OCTAVE, x.exponent - (BIAS - 1))
    s.then(
        inside=Cat(C(0, bits - stored - 1), Mux(one, 0, place)[: stored + 1]),
        octave=Mux(below | one, 0, octave)[: LAST_OCTAVE.bit_length()],
        distance=Mux(below, BIAS - 1 - x.exponent, 0)[: EXPONENT_BITS - 1],
    )
    _shifted_right(s, "inside", s.inside, s.distance, 1)


def _shifted_right(s, name, value, distance, weight):
    """Register a value shifted right by a distance times `weight`, two bits of it in a stage."""
    s.let(**{name: value}, left=distance)
    levels = [k for k in range(len(distance)) if weight << k < len(value)]
    rest = len(levels)
    while levels:
        shifted = getattr(s, name)
        for k in levels[-2:]:
            shifted = Mux(s.left[k], shifted >> (weight << k), shifted)
        levels = levels[:-2]
        if not levels:
            shifted = Mux(s.left[rest:].any(), 0, shifted)
        s.then(**{name: shifted})


def _segment(of, argument, bits=None):
    """The number of a table's segment, and the place in it."""
    cut = (len(argument) if bits is None else bits) - precision(of).segments
    return argument[cut:], argument[:cut]


FUNCTIONS = {
    "exp": _exp,
    "reciprocal": _reciprocal,
    "divide": _divide,
    "sqrt": _sqrt,
    "rsqrt": _rsqrt,
    "tanh": _tanh,
    "silu": _silu,
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
}
