"""Circuits of floating-point operations: operands are canonical, results are rounded once.

Formats have a sign, 8 bits of exponent and M stored bits of mantissa. There are no subnormal
numbers, and one NaN. A result below the smallest number, after rounding, becomes zero.
"""

from amaranth.hdl import C, Cat, Const, Mux, Signal

from ...primitives import Multiplier
from ..scaling import LOW_BITS
from . import integer
from .stages import Stages

__all__ = [
    "BIAS",
    "EXPONENT_BITS",
    "Parts",
    "add",
    "infinity",
    "leading_zeros",
    "multiply",
    "nan",
    "shifted_left",
    "shifted_right",
]

EXPONENT_BITS = 8
HIGHEST = 2**EXPONENT_BITS - 1
"""Exponent of infinities and of NaN."""
BIAS = 127


class Parts:
    """A number's bit pattern in its parts."""

    def __init__(self, pattern):
        self.pattern = pattern
        self.mantissa, self.exponent = pattern[: len(pattern) - 9], pattern[-9:-1]
        self.magnitude, self.sign = pattern[:-1], pattern[-1]
        self.special = self.exponent.all()
        self.nan = self.special & self.mantissa[-1]
        self.zero = ~self.exponent.any()
        self.whole = Cat(self.mantissa, ~self.zero)

    @property
    def key(self):
        """A signed integer of the same order, with -0 below +0."""
        return Cat(self.magnitude ^ self.sign.replicate(len(self.magnitude)), self.sign).as_signed()


def nan(bits):
    """The pattern of the one NaN."""
    return Const(0x7FC0 << (bits - 16), bits)


def infinity(bits):
    """The magnitude of an infinity."""
    return Const(HIGHEST << (bits - 1 - EXPONENT_BITS), bits - 1)


def leading_zeros(m, value):
    """Number of zeros above the highest one, by halving; all bits set for zero."""
    bits = 1 << (len(value) - 1).bit_length()
    value = Cat(C(0, bits - len(value)), value) if bits > len(value) else value
    count = []
    while len(value) > 1:
        half = len(value) // 2
        empty = Signal()
        rest = Signal(half)
        m.d.comb += [
            empty.eq(~value[half:].any()),
            rest.eq(Mux(empty, value[:half], value[half:])),
        ]
        count.append(empty)
        value = rest
    return Cat(reversed(count))


def shifted_right(value, distance, steps):
    """`value` shifted by the bits `steps` of a distance; what falls out stays in the lowest bit."""
    for step in steps:
        by = 1 << step
        value = Mux(distance[step], Cat(value[: by + 1].any(), value[by + 1 :]), value)
    return value


def shifted_left(value, distance, steps):
    """`value` shifted by the bits `steps` of a distance, in its own width."""
    for step in steps:
        value = Mux(distance[step], (value << (1 << step))[: len(value)], value)
    return value


def add(m, a, b, *, negate=False):
    """``a + b``, or ``a - b``."""
    bits = len(a)
    stored = bits - 1 - EXPONENT_BITS
    width = stored + 4  # the hidden bit and three more below: guard, round, sticky
    reach = (width + 1).bit_length()
    steps = range(reach - 1, -1, -1)
    coarse = [k for k in steps if k >= 3] if stored > 10 else []
    fine = [k for k in steps if k not in coarse]
    x, y = Parts(a), Parts(Cat(b[:-1], b[-1] ^ negate))

    s = Stages(m, x=x.pattern, y=y.pattern)
    s.then(
        swap=x.magnitude < y.magnitude,
        up=(y.exponent - x.exponent)[:8],
        down=(x.exponent - y.exponent)[:8],
    )
    distance = Mux(s.swap, s.up, s.down)
    big, small = Parts(Mux(s.swap, s.y, s.x)), Parts(Mux(s.swap, s.x, s.y))
    s.then(
        sign=big.sign,
        subtract=s.x[-1] ^ s.y[-1],
        distance=Mux(distance >= width, width, distance)[:reach],
        exponent=big.exponent,
        big=big.whole,
        small=Cat(C(0, 3), small.whole),
        infinite=big.special,
        nan=big.nan | small.nan | (big.special & small.special & (big.sign ^ small.sign)),
    )
    if coarse:
        s.then(small=shifted_right(s.small, s.distance, coarse))
    s.then(small=shifted_right(s.small, s.distance, fine))
    total = Cat(C(0, 3), s.big) + (s.small ^ s.subtract.replicate(width)) + s.subtract
    s.then(sum=Cat(total[:width], total[width] & ~s.subtract))
    s.then(zeros=leading_zeros(m, s.sum), none=~s.sum.any())
    steps = range(len(s.zeros) - 1, -1, -1)
    coarse = [k for k in steps if k >= 3] if stored > 10 else []
    if coarse:
        s.then(sum=shifted_left(s.sum, s.zeros, coarse))
    top = shifted_left(s.sum, s.zeros, [k for k in steps if k not in coarse])
    s.then(
        top=top,
        exponent=(s.exponent.as_unsigned() + 1 - s.zeros).as_signed(),
        sign=s.sign & ~(s.none & s.subtract),
    )
    return _rounded(m, s, s.top, stored)


def multiply(m, a, b):
    """``a * b``."""
    bits = len(a)
    stored = bits - 1 - EXPONENT_BITS
    x, y = Parts(a), Parts(b)
    s = Stages(
        m,
        exponent=(x.exponent + y.exponent - BIAS + 1).as_signed(),
        sign=x.sign ^ y.sign,
        none=x.zero | y.zero,
        infinite=x.special | y.special,
        nan=x.nan | y.nan | (x.special & y.zero) | (y.special & x.zero),
    )
    product = _mantissas(m, s, x.whole, y.whole)
    high = product[-1]
    s.then(
        top=Mux(high, product, product << 1)[: len(product)],
        exponent=(s.exponent - ~high).as_signed(),
    )
    return _rounded(m, s, s.top, stored)


def _mantissas(m, s, a, b):
    """The exact product of two mantissas, after as many stages as it takes."""

    def product(x, y):
        multiplier = Multiplier(len(x) + 1, len(y) + 1)
        m.submodules += multiplier
        m.d.comb += [multiplier.a.eq(x), multiplier.b.eq(y)]
        return multiplier.product[: len(x) + len(y)]

    if len(a) <= LOW_BITS:
        whole = product(a, b)
        s.wait(3)
        return whole
    low_a, high_a, low_b, high_b = a[:LOW_BITS], a[LOW_BITS:], b[:LOW_BITS], b[LOW_BITS:]
    low, high = product(low_a, low_b), product(high_a, high_b)
    middle = product(high_a, low_b), product(low_a, high_b)
    s.wait(3)
    s.let(outer=Cat(low, high))
    s.then(middle=middle[0] + middle[1])
    s.then(product=Cat(s.outer[:LOW_BITS], s.outer[LOW_BITS:] + s.middle)[: 2 * len(a)])
    return s.product


def _rounded(m, s, top, stored):
    """The result of a normalised mantissa, in two stages.

    The highest bit of `top` is the hidden one. Stages `s` hold sign, exponent, `none` for zero,
    `infinite` and `nan`.
    """
    kept, guard, rest = top[-1 - stored : -1], top[-2 - stored], top[: -2 - stored]
    up = guard & (rest.any() | kept[0])
    s.then(number=(Cat(kept, s.exponent).as_signed() + up).as_signed())
    exponent = s.number[stored:].as_signed()
    over = (exponent >= HIGHEST) | s.infinite
    under = (exponent <= 0) | s.none
    magnitude = Mux(over, infinity(stored + 9), Mux(under, 0, s.number[: stored + 8]))
    s.then(y=Mux(s.nan, nan(stored + 9), Cat(magnitude[: stored + 8], s.sign)))
    return s.y, s.count


def select(m, x, y, *, larger):
    """The larger, or smaller, of two numbers; NaN if one is."""
    ordered = x.key > y.key if larger else x.key < y.key
    return integer.select(m, x.pattern, y.pattern, x.nan | (ordered & ~y.nan))


def compare(m, relation, x, y):
    """A relation of two numbers: zeros are the same, a NaN is not even the same as itself."""
    both_zero = x.zero & y.zero
    same = (x.pattern == y.pattern) | both_zero
    below = (x.key < y.key) & ~both_zero
    holds = integer.RELATIONS[relation](below, same)
    unordered = x.nan | y.nan
    s = Stages(m)
    s.then(holds=Mux(unordered, relation == "ne", holds))
    return s.holds, s.count
