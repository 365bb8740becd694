"""Pipeline registers."""

from amaranth.hdl import Signal

__all__ = ["delayed"]


def delayed(m, value, cycles: int, **kwargs):
    """`value` as it was `cycles` cycles ago.

    Parameters
    ----------
    m : Module
        Receives the registers.
    value : Value
        What to delay.
    cycles : int
        Registers; with 0 the value itself.
    **kwargs
        For the registers: ``reset_less`` where the output is not used before the first value.
    """
    for _ in range(cycles):
        later = Signal.like(value, name="delayed", **kwargs)
        m.d.sync += later.eq(value)
        value = later
    return value
