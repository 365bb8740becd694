"""Numbers of any type as unsigned ones of the same order."""

from amaranth.hdl import Cat, Mux

from stepgen.hw.arithmetic.circuits.floating import Parts
from stepgen.hw.arithmetic.operations import MANTISSA_BITS


def key(pattern, element):
    """An unsigned number of the same order, in which -0 is below +0; 0 for a NaN."""
    if element not in MANTISSA_BITS:
        return Cat(pattern[:-1], ~pattern[-1])
    x = Parts(pattern)
    magnitude = Mux(x.zero, 0, x.magnitude)
    ordered = Cat(magnitude ^ x.sign.replicate(len(magnitude)), ~x.sign)
    return Mux(x.nan, 0, ordered)


def falling_key(pattern, element):
    """An unsigned number of the opposite order; 0 for a NaN, which only the lowest also is."""
    if element not in MANTISSA_BITS:
        return ~key(pattern, element)
    return Mux(Parts(pattern).nan, 0, ~key(pattern, element))
