"""Circuits of floating-point operations: operands are canonical, results are rounded once.

Formats have a sign, 8 bits of exponent and M stored bits of mantissa. There are no subnormal
numbers, and one NaN. A result below the smallest number, after rounding, becomes zero.
"""

from amaranth.hdl import C, Cat, Const, Mux, Signal, Value

from stepgen.hw.arithmetic.circuits import integer
from stepgen.hw.arithmetic.circuits.product import product
from stepgen.hw.arithmetic.circuits.stages import Stages

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
    if len(value) == 1:
        return Cat()
    half = 1 << (len(value) - 1).bit_length() - 1
    lower, upper = value[:-half], value[-half:]
    lower = Cat(C(0, half - len(lower)), lower)
    empty = Signal()
    m.d.comb += empty.eq(~upper.any())
    return Cat(Mux(empty, leading_zeros(m, lower), leading_zeros(m, upper)), empty)


def digits(value):
    """Whether each digit of a value has a one; the highest digit ends with its highest bit."""
    padded = Cat(C(0, -len(value) % DIGIT), value)
    return Cat(padded[k : k + DIGIT].any() for k in range(0, len(padded), DIGIT))


def shifted_right(value, distance, steps):
    """`value` shifted by the bits `steps` of a distance; what falls out stays in the lowest bit."""
    least = 1 << min(steps)
    # One choice instead of several, which may be a register's reset.
    highest = Mux(Cat(distance[step] for step in steps).any(), 0, value[-least:])
    for step in steps:
        by = 1 << step
        value = Mux(distance[step], Cat(value[: by + 1].any(), value[by + 1 :]), value)
    return Cat(value[:-least], highest)


def shifted_left(value, distance, steps, below=0):
    """`value` shifted by the bits `steps` of a distance, in its own width, with `below` below."""
    for step in steps:
        by = min(1 << step, len(value))
        filling = Value.cast(below)[:1].replicate(by)
        value = Mux(distance[step], Cat(filling, value)[: len(value)], value)
    return value


def sticky(value, stored):
    """A mantissa without the bits that only say whether it is exact: one stands for all of them."""
    below = len(value) - stored - 2
    return Cat(value[:below].any(), value[below:]) if below > 1 else value


def add(m, a, b, *, negate=False):
    """``a + b``, or ``a - b``.

    Operands are in order of their exponents alone, so a difference is negative only where those are
    equal. Then it is exact, and its complement, with ones below, is rounded up to its amount.
    """
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
        ahead=x.exponent - y.exponent,
        subtract=x.sign ^ y.sign,
        special=Cat(x.special, y.special),
        whole_x=x.whole,
        whole_y=y.whole,
    )
    # With y ahead it is the distance less one; then x is put in one place further down.
    swap, ahead = s.ahead[-1], s.ahead[:-1] ^ s.ahead[-1].replicate(EXPONENT_BITS)
    big = Parts(Mux(swap, s.y, s.x))
    nan = s.special & Cat(s.x[stored - 1], s.y[stored - 1])
    s.then(
        sign=big.sign,
        subtract=s.subtract,
        # All of the smaller number is out before the distance overflows.
        distance=ahead[:reach] | ahead[reach:].any().replicate(reach),
        exponent=Cat(big.exponent, C(0, 2)).as_signed(),
        big=Mux(swap, s.whole_y, s.whole_x) ^ s.subtract.replicate(stored + 1),
        small=Mux(swap, Cat(C(0, 2), s.whole_x, C(0, 1)), Cat(C(0, 3), s.whole_y)),
        infinite=s.special.any(),
        nan=nan.any() | (s.special.all() & s.subtract),
    )
    if coarse:
        s.then(small=shifted_right(s.small, s.distance, coarse))
    s.then(small=shifted_right(s.small, s.distance, fine))
    # The complement of a difference: it is the larger operand that is turned.
    turned = Cat(s.subtract.replicate(3), s.big, s.subtract)
    s.then(sum=(turned + s.small)[: width + 1])
    positive = s.subtract & s.sum[-1]
    s.then(
        digits=leading_zeros(m, digits(s.sum ^ positive.replicate(width + 1))),
        positive=positive,
        negative=s.subtract & ~s.sum[-1],
    )
    # What is shifted by more than two has nothing in its lowest two bits.
    by = Cat(C(0, 2), s.digits)
    steps = range(len(by) - 1, 1, -1)
    moved = Cat(s.sum[:2], shifted_left(s.sum[2:], by, steps, s.subtract))
    if coarse:
        s.then(sum=moved)
        moved = s.sum
    upright = s.positive.replicate(width + 1)
    low = moved ^ upright
    rest = leading_zeros(m, low[-DIGIT:])
    none = s.digits.all()  # a number of digits that is not a power of two leaves this to zero
    top = shifted_left(moved, rest, (0, 1), s.subtract) ^ upright
    # Of a number shifted by three nothing is lost, or its complement's ones round it up anyway.
    inexact = low[0] | (low[1] & ~rest[1]) | (low[2] & ~rest.any())
    # Of the exponent: one less the zeros, without a carry.
    upper = Mux(rest[1], ~s.digits, (-s.digits)[: len(s.digits)])
    carry = Cat(~rest[0], rest[1], upper, rest[1] | s.digits.any())
    s.then(
        top=Cat(inexact, top[3:]),
        carry=carry.as_signed(),
        sign=(s.sign ^ s.negative) & ~(none & s.subtract),
        none=none,
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
    number = Cat(up, kept, s.exponent).as_signed() + (s.carry << (stored + 1) | up)
    s.then(number=number[1:].as_signed())
    return packed(s, stored)


def packed(s, stored):
    """The result of a ``number``, exponent and mantissa, in one stage.

    Stages `s` hold its ``sign``, ``none`` for zero, ``infinite`` and ``nan``.
    """
    exponent = s.number[stored:].as_signed()
    # Bits instead of comparisons, which would take carry chains.
    below, whole = exponent[-1], exponent[:EXPONENT_BITS]
    over = (~below & (whole.all() | exponent[EXPONENT_BITS:-1].any())) | s.infinite | s.nan
    under = below | ~whole.any() | s.none  # or over
    # Registers' resets make what is zero.
    mantissa = Mux(over | under, 0, s.number[:stored])
    quiet = mantissa[-1] | s.nan
    exponent = (whole & ~under.replicate(EXPONENT_BITS)) | over.replicate(EXPONENT_BITS)
    s.then(y=Cat(mantissa[:-1], quiet, exponent, s.sign & ~s.nan))
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
