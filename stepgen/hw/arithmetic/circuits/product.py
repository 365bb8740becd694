"""Circuits of integer products of any width, of hardware multipliers."""

from amaranth.hdl import Cat

from stepgen.hw.design.stages import MULTIPLIER, MULTIPLIER_BITS
from stepgen.hw.primitives import Multiplier

__all__ = ["product"]


def product(m, s, a, b, bits=None):
    """``a * b`` of factors with or without a sign, each of one part or of two.

    It is there `stepgen.hw.arithmetic.operations.product_stages` after the current one of `s`.

    Parameters
    ----------
    m : Module
        Receives the circuit.
    s : Stages
    a, b : Value
        Values of the current stage.
    bits : int, optional
        The product modulo ``2**bits``.
    """
    signed = a.shape().signed or b.shape().signed
    whole = len(a) + len(b)
    bits = whole if bits is None else bits
    parts = {}
    for (i, x), (j, y) in ((p, q) for p in _parts(a) for q in _parts(b)):
        if (i + j) * MULTIPLIER_BITS < bits:
            signs = {"a_signed": x.shape().signed, "b_signed": y.shape().signed}
            multiplier = Multiplier(len(x), len(y), **signs)
            m.submodules += multiplier
            m.d.comb += [multiplier.a.eq(x), multiplier.b.eq(y)]
            parts[i + j, i] = multiplier.product
    s.wait(MULTIPLIER)
    outer = parts[0, 0]
    if (2, 1) in parts:
        outer = Cat(outer, parts[2, 1])
        outer = outer.as_signed() if signed else outer
    s.let(outer=outer)
    middle = [value for (place, _), value in parts.items() if place == 1]
    if len(middle) == 2:
        s.then(middle=middle[0] + middle[1])
    elif middle:
        s.let(middle=middle[0])
    if middle:
        upper = (s.outer >> MULTIPLIER_BITS) + s.middle
        s.then(outer=Cat(s.outer[:MULTIPLIER_BITS], upper[: bits - MULTIPLIER_BITS]))
    result = s.outer[:bits]
    return result.as_signed() if signed and bits == whole else result


def _parts(x):
    """The lower part of a factor, without a sign, and the upper one, with their places."""
    if len(x) <= MULTIPLIER_BITS:
        return [(0, x)]
    upper = x[MULTIPLIER_BITS:]
    return [(0, x[:MULTIPLIER_BITS]), (1, upper.as_signed() if x.shape().signed else upper)]
