"""Modulo counters with registered terminal count, and addresses that go round."""

from amaranth.hdl import Const, Mux, Signal

__all__ = ["after", "counter"]


def counter(m, step, extent: int):
    """Count `step` from 0 to ``extent - 1`` and around.

    Returns
    -------
    count : Value
    last : Value
        Whether `count` is ``extent - 1``: a register, so that decisions on it are quick.
    """
    if extent == 1:
        return Const(0, 0), Const(1, 1)
    count, last = Signal(range(extent)), Signal()
    with m.If(step):
        m.d.sync += [count.eq(Mux(last, 0, count + 1)), last.eq(count == extent - 2)]
    return count, last


def after(count, extent: int):
    """The number after `count`, which goes from 0 to ``extent - 1`` and around.

    Only for what steps otherwise than a `counter` does: it waits for a comparison.
    """
    return Mux(count == extent - 1, 0, count + 1)
