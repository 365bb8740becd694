"""The register ``detail``: what a unit reports with an error."""

from amaranth.hdl import Cat, Const

from stepgen.hw.design.registers import NUMBER_BITS, WORD

__all__ = ["detail_word"]


def detail_word(cause, number=None):
    """The register ``detail`` for a cause and a number of at most `NUMBER_BITS` bits, or none."""
    low = Const(0, 0) if number is None else number
    return Cat(low, Const(0, NUMBER_BITS - len(low)), Const(cause, 8 * WORD - NUMBER_BITS))
