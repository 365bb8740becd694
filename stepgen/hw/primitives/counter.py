"""Modulo counter with registered terminal count, and steps of counts."""

from amaranth.hdl import Cat, Const, Mux, Signal

__all__ = ["after", "counter", "stepped"]


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
    wraps = extent == 1 << len(count)
    with m.If(step):
        m.d.sync += [
            count.eq(count + 1 if wraps else Mux(last, 0, count + 1)),
            last.eq(count == extent - 2),
        ]
    return count, last


def after(count, extent: int):
    """``count + 1`` modulo `extent`.

    For addresses that do not only count; unless `extent` is a power of two it has a comparison in
    its path, a `counter` has not.
    """
    following = (count + 1)[: len(count)]
    if extent == 1 << len(count):
        return following
    return Mux(count == extent - 1, 0, following)


def stepped(count, *, back):
    """``count + 1``, or ``count - 1`` while `back` is high; a single adder."""
    return (count + Cat(1, back.replicate(len(count) - 1)))[: len(count)]
