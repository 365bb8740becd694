"""Registers of one value near their readers.

One wire to readers all over a large design limits its clock: it takes longer than most paths, and
place and route for an ECP5 leaves global wires to clocks. There each part of the design gets a
register of its own, a hard block, since synthesis merges equal registers.
"""

from collections.abc import Iterator

from amaranth.hdl import ClockSignal, Const, Instance, ResetSignal, Signal, Value

from stepgen.hw.design.stages import RESET_LAG
from stepgen.hw.primitives.delay import delayed
from stepgen.hw.primitives.device import is_ecp5

__all__ = ["copies", "resets"]


def resets(m, platform, clear=None) -> Iterator[Value | None]:
    """The reset of each part, all of the same value; None for the global one.

    Parameters
    ----------
    m : Module
        Receives the registers.
    platform : Device
    clear : Value, optional
        Resets the parts `RESET_LAG` cycles later, in addition to the global reset; on an ECP5 that
        is as late.
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
        yield _own(m, near, "reset_own")


def copies(m, platform, value) -> Iterator[Signal]:
    """A register for each reader, without a reset, that holds a value a cycle later.

    Parameters
    ----------
    m : Module
        Receives the registers.
    platform : Device
    value : Value
        One bit.
    """
    if not is_ecp5(platform):
        shared = delayed(m, value, 1, reset_less=True)
        while True:
            yield shared
    while True:
        yield _own(m, value, "copy")


def _own(m, data, name: str) -> Signal:
    """A register that synthesis leaves as it is."""
    own = Signal(name=name)
    m.submodules += Instance(
        "TRELLIS_FF",
        p_GSR="DISABLED",
        p_CEMUX="1",
        p_CLKMUX="CLK",
        p_LSRMUX="LSR",
        p_REGSET="RESET",
        i_CLK=ClockSignal(),
        i_LSR=Const(0, 1),
        i_DI=data,
        o_Q=own,
    )
    return own
