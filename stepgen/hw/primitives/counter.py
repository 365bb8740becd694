"""Modulo counter with registered terminal count, and increment modulo an extent."""

from amaranth.hdl import Const, Mux, Signal

__all__ = ["after", "counter"]


def counter(m, step, extent: int):
    """Modulo counter of `step`, from 0 to ``extent - 1``.

    Returns
    -------
    count : Value
    last : Value
        Registered terminal count: whether `count` is ``extent - 1``.
    """
    if extent == 1:
        return Const(0, 0), Const(1, 1)
    count, last = Signal(range(extent)), Signal()
    with m.If(step):
        m.d.sync += [count.eq(Mux(last, 0, count + 1)), last.eq(count == extent - 2)]
    return count, last


def after(count, extent: int):
    """``count + 1`` modulo `extent`.

    For addresses that do not only count; it has a comparison in its path, a `counter` has not.
    """
    return Mux(count == extent - 1, 0, count + 1)
