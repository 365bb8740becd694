"""Circuits of integer operations; a bool is an integer of one bit without a sign."""

from amaranth.hdl import Cat, Mux

from stepgen.hw.arithmetic.circuits.product import product
from stepgen.hw.arithmetic.circuits.stages import Stages
from stepgen.hw.arithmetic.operations import NARROW_BITS
from stepgen.hw.design import stages
from stepgen.hw.primitives import Rom

__all__ = ["RELATIONS", "add", "compare", "exceeds", "lookup", "multiply", "saturated", "select"]


def add(m, a, b, *, negate=False):
    """Sum, or difference, modulo the operands' width."""
    s = Stages(m)
    s.then(sum=(a - b if negate else a + b)[: len(a)])
    return s.sum, s.count


def multiply(m, a, b, bits):
    """Product of signed factors modulo ``2**bits``."""
    s = Stages(m)
    low = product(m, s, a, b, min(bits, len(a) + len(b)))
    return Cat(low, low[-1].replicate(bits - len(low))), s.count


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


def lookup(m, x, results, bits):
    """The result for `x`, the lowest number of which comes first in the table."""
    half, mask = len(results) // 2, (1 << bits) - 1
    rows = [result & mask for result in (*results[half:], *results[:half])]
    m.submodules += (rom := Rom(bits, rows))
    m.d.comb += rom.addr.eq(x)
    return rom.data, stages.rom(bits * len(rows))


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
