"""Circuits of integer operations; a bool is an integer of one bit without a sign."""

from amaranth.hdl import Cat, Const, Mux, Signal, signed

from ...primitives import Multiplier
from ..operations import NARROW_BITS
from ..scaling import FACTOR_BITS, LOW_BITS
from .stages import Stages

__all__ = ["RELATIONS", "add", "compare", "exceeds", "multiply", "saturated", "select"]


def add(m, a, b, *, negate=False):
    """Sum, or difference, modulo the operands' width."""
    s = Stages(m)
    s.then(sum=(a - b if negate else a + b)[: len(a)])
    return s.sum, s.count


def multiply(m, a, b, bits):
    """Product of signed factors modulo ``2**bits``; each has one part or two."""
    a, b = ([(0, x)] if len(x) <= FACTOR_BITS else _halves(x) for x in (a, b))
    s = Stages(m)
    parts = {}
    for (i, x), (j, y) in ((p, q) for p in a for q in b if p[0] + q[0] < 2):
        multiplier = Multiplier(len(x), len(y))
        m.submodules += multiplier
        m.d.comb += [multiplier.a.eq(x), multiplier.b.eq(y)]
        parts[i, j] = multiplier.product
    s.wait(3)
    s.let(low=parts[0, 0])
    upper = [value for place, value in parts.items() if sum(place)]
    if len(upper) == 2:
        s.then(upper=(upper[0] + upper[1])[: bits - LOW_BITS])
    elif upper:
        s.let(upper=upper[0])
    if upper:
        s.then(low=(s.low + (s.upper << LOW_BITS))[:bits])
    low = Signal(signed(max(bits, len(s.low))))
    m.d.comb += low.eq(s.low)
    return low[:bits], s.count


def _halves(x):
    """The unsigned lower and the signed upper part of a factor, with their places."""
    return [(0, Cat(x[:LOW_BITS], Const(0, 1)).as_signed()), (1, x[LOW_BITS:].as_signed())]


def select(m, a, b, first):
    """`a` where `first`, else `b`, in as many stages as wide numbers take."""
    s = Stages(m, a=a, b=b, first=first)
    if len(a) > NARROW_BITS:
        s.then(first=first)
    s.then(chosen=Mux(s.first, s.a, s.b))
    return s.chosen, s.count


RELATIONS = {
    "lt": lambda below, same: below,
    "le": lambda below, same: below | same,
    "eq": lambda below, same: same,
    "ne": lambda below, same: ~same,
    "ge": lambda below, same: ~below,
    "gt": lambda below, same: ~below & ~same,
}
"""Relations, from whether the first is below the second, and whether they are the same."""


def compare(m, relation, a, b):
    """A relation of two numbers."""
    s = Stages(m)
    s.then(holds=RELATIONS[relation](a < b, a == b))
    return s.holds, s.count


def exceeds(x, bits):
    """Whether a signed number needs more than `bits`."""
    above = x[bits - 1 :]
    return above.any() & ~above.all()


def saturated(x, bits):
    """A signed number in `bits`."""
    if len(x) <= bits:
        return x
    sign = x[-1]
    limit = Cat((~sign).replicate(bits - 1), sign)
    return Mux(exceeds(x, bits), limit, x[:bits]).as_signed()
