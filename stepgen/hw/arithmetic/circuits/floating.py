"""Circuits of floating-point operations: operands are canonical, results are rounded once.

Formats have a sign, 8 bits of exponent and M stored bits of mantissa. There are no subnormal
numbers, and one NaN. A result below the smallest number, after rounding, becomes zero.
"""

from amaranth.hdl import C, Cat, Const, Mux, Signal

from . import integer
from .product import product
from .stages import Stages

__all__ = [
    "BIAS",
    "DIGIT",
    "EXPONENT_BITS",
    "Parts",
    "add",
    "digits",
    "infinity",
    "leading_zeros",
    "multiply",
    "nan",
    "normalised",
    "packed",
    "rounded",
    "shifted_left",
    "shifted_right",
    "sticky",
]

EXPONENT_BITS = 8
HIGHEST = 2**EXPONENT_BITS - 1
"""Exponent of infinities and of NaN."""
BIAS = 127
DIGIT = 4
"""Leading zeros are counted in digits of so many bits, then within the highest."""


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


def digits(value):
    """Whether each digit of a value has a one; the highest digit ends with its highest bit."""
    padded = Cat(C(0, -len(value) % DIGIT), value)
    return Cat(padded[k : k + DIGIT].any() for k in range(0, len(padded), DIGIT))


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


def sticky(value, stored):
    """A mantissa without the bits that only say whether it is exact: one stands for all of them."""
    below = len(value) - stored - 2
    return Cat(value[:below].any(), value[below:]) if below > 1 else value


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
        # All of the smaller number is out before the distance overflows.
        distance=distance[:reach] | distance[reach:].any().replicate(reach),
        exponent=big.exponent,
        big=big.whole,
        small=Cat(C(0, 3), small.whole),
        infinite=big.special,
        nan=big.nan | small.nan | (big.special & small.special & (big.sign ^ small.sign)),
    )
    if coarse:
        s.then(small=shifted_right(s.small, s.distance, coarse))
    moved = shifted_right(s.small, s.distance, fine)
    s.then(addend=moved ^ s.subtract.replicate(width))
    # The lowest bits make the adder's carry, so that it remains one adder.
    total = (Cat(s.subtract, C(0, 3), s.big) + Cat(s.subtract, s.addend))[1:]
    s.then(sum=Cat(total[:width], total[width] & ~s.subtract))
    s.then(digits=leading_zeros(m, digits(s.sum)), none=~s.sum.any())
    by = Cat(C(0, 2), s.digits)
    moved = shifted_left(s.sum, by, range(len(by) - 1, 1, -1))
    if coarse:
        s.then(sum=moved)
        moved = s.sum
    rest = leading_zeros(m, moved[-DIGIT:])
    s.then(
        top=shifted_left(moved, rest, (1, 0)),
        exponent=(s.exponent.as_unsigned() - Cat(rest, s.digits)).as_signed(),
        carry=C(1, 1),
        sign=s.sign & ~(s.none & s.subtract),
    )
    return rounded(s, stored)


def multiply(m, a, b):
    """``a * b``."""
    bits = len(a)
    stored = bits - 1 - EXPONENT_BITS
    x, y = Parts(a), Parts(b)
    s = Stages(
        m,
        exponent=_sum(x.exponent, y.exponent),
        sign=x.sign ^ y.sign,
        none=x.zero | y.zero,
        infinite=x.special | y.special,
        nan=x.nan | y.nan | (x.special & y.zero) | (y.special & x.zero),
    )
    whole = product(m, s, x.whole, y.whole)
    normalised(s, whole, 2 * stored, 2, stored)
    return rounded(s, stored)


def _sum(a, b):
    """``a + b - BIAS`` of exponents, with one adder: the bias is 128 without the carry."""
    total = (Cat(C(1, 1), a) + Cat(C(1, 1), b))[1:]
    return Cat(total[: EXPONENT_BITS - 1], (total[EXPONENT_BITS - 1 :] - 1)[:3]).as_signed()


def normalised(s, value, fraction, places, stored):
    """Register ``top``, a mantissa with its highest bit, and the ``exponent`` of the result.

    Parameters
    ----------
    s : Stages
        Has ``exponent``, that of a number with `fraction` bits behind the point.
    value : Value
        Its highest bit is one of the upper `places`.
    stored : int
        Bits of the result's mantissa.
    """
    lowest = len(value) - fraction - places
    top, carry = value << (places - 1), C(0, 1)
    for place in reversed(range(places - 1)):
        here = value[-1 - place]
        top = Mux(here, value << place, top)
        carry = Mux(here, places - 1 - place, carry)
    top = sticky(top[: len(value)], stored)
    s.then(top=top, exponent=(s.exponent + lowest).as_signed(), carry=carry)


def rounded(s, stored):
    """The result of a normalised mantissa, in two stages.

    Stages `s` hold ``top``, whose highest bit is the hidden one, ``exponent``, what ``carry`` adds
    to it, and what `packed` needs.
    """
    kept, guard, rest = s.top[-1 - stored : -1], s.top[-2 - stored], s.top[: -2 - stored]
    up = guard & (rest.any() | kept[0])
    # The lowest bits make the adder's carry, so that it remains one adder.
    number = Cat(up, kept, s.exponent).as_signed() + Cat(up, C(0, stored), s.carry)
    s.then(number=number[1:].as_signed())
    return packed(s, stored)


def packed(s, stored):
    """The result of a ``number``, exponent and mantissa, in one stage.

    Stages `s` hold its ``sign``, ``none`` for zero, ``infinite`` and ``nan``.
    """
    exponent = s.number[stored:].as_signed()
    # Bits instead of comparisons, which would take carry chains.
    below, whole = exponent[-1], exponent[:EXPONENT_BITS]
    over = (~below & (whole.all() | exponent[EXPONENT_BITS:-1].any())) | s.infinite
    under = below | ~exponent.any() | s.none
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
