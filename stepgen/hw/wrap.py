"""Counters that start over, with their end in a register."""

from amaranth.hdl import Const, Module, Mux, Signal

__all__ = ["wrapping"]


def wrapping(m: Module, extent: int, step):
    """Count `step` from 0 to ``extent - 1`` and over again.

    Returns
    -------
    count : Value
    last : Value
        Whether `count` is ``extent - 1``: a register, so that nobody waits for a comparison.
    """
    if extent == 1:
        return Const(0), Const(1)
    count, last = Signal(range(extent)), Signal()
    with m.If(step):
        m.d.sync += [count.eq(Mux(last, 0, count + 1)), last.eq(count == extent - 2)]
    return count, last
