"""One-hot selection: AND-OR trees and prefix trees instead of wide multiplexers."""

from amaranth.hdl import Module, Signal

__all__ = ["from_lowest", "lowest", "select"]


def from_lowest(m: Module, mask):
    """All bits from the lowest set bit of `mask` on: bit k says whether any of 0..k is set.

    Adds a parallel prefix tree to `m`, whose depth grows with the logarithm of the width.
    """
    covered, reach = mask, 1
    while reach < len(mask):
        wider = Signal(len(mask), name="covered")
        m.d.comb += wider.eq(covered | covered << reach)
        covered, reach = wider, 2 * reach
    return covered


def lowest(m: Module, mask):
    """The lowest set bit of `mask` alone."""
    return mask & ~(from_lowest(m, mask) << 1)[: len(mask)]


def select(onehot, values):
    """The value whose bit in `onehot` is set; zero if none is.

    Parameters
    ----------
    onehot : Value
        At most one bit is set.
    values : sequence of Value
        One per bit.
    """
    terms = [value & bit.replicate(len(value)) for value, bit in zip(values, onehot, strict=True)]
    while len(terms) > 1:
        terms = [terms[k] | terms[k + 1] for k in range(0, len(terms) - 1, 2)] + (
            terms[-1:] if len(terms) % 2 else []
        )
    return terms[0]
