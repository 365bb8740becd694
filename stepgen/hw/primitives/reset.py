"""Resets of the parts of a large circuit."""

from collections.abc import Iterator

from amaranth.hdl import ClockSignal, Const, Instance, ResetSignal, Signal, Value

from .delay import delayed
from .device import is_ecp5

__all__ = ["RESET_LAG", "resets"]

RESET_LAG = 2
"""Cycles from what clears parts to their reset."""


def resets(m, platform, clear=None) -> Iterator[Value | None]:
    """The reset of each part, all of the same value; None for the global one.

    Parameters
    ----------
    m : Module
        Receives the registers.
    platform : Device
    clear : Value, optional
        Resets the parts `RESET_LAG` cycles later, in addition to the global reset.

    Notes
    -----
    One wire to all flip-flops of a large design limits its clock: it takes longer than most paths,
    and place and route for an ECP5 leaves global wires to clocks. There each part has a register of
    its own, a hard block, since synthesis merges equal registers; the global reset is as late then.
    """
    whole = ResetSignal()
    if not is_ecp5(platform):
        shared = None if clear is None else whole | delayed(m, clear, RESET_LAG)
        while True:
            yield shared
    if clear is not None:
        whole |= clear
    near = Signal(name="reset_near", reset_less=True)
    m.d.sync += near.eq(whole)
    while True:
        own = Signal(name="reset_own")
        m.submodules += Instance(
            "TRELLIS_FF",
            p_GSR="DISABLED",
            p_CEMUX="1",
            p_CLKMUX="CLK",
            p_LSRMUX="LSR",
            p_REGSET="RESET",
            i_CLK=ClockSignal(),
            i_LSR=Const(0, 1),
            i_DI=near,
            o_Q=own,
        )
        yield own
