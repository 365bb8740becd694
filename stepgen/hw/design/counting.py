"""Which channels of a design have counters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stepgen.ir.errors import StepError

if TYPE_CHECKING:
    from stepgen.hw.design.table import Design

NONE, UNITS, CHANNELS = COUNTING = ("none", "units", "channels")
"""No channels, one for each unit, all."""


def counting(value: Any) -> str:
    """One of `COUNTING`; true and false stand for ``channels`` and ``none``.

    Raises
    ------
    StepError
        For anything else.
    """
    if isinstance(value, bool):
        return CHANNELS if value else NONE
    if value not in COUNTING:
        raise StepError(f"counters must be {', '.join(COUNTING[:-1])} or {CHANNELS}, not {value!r}")
    return str(value)


def counted(design: Design) -> list[int]:
    """Numbers of the channels that are counted.

    With ``units`` these are the first output of each unit, which says when it sends a beat, has
    none to send, and waits for others.
    """
    if design.counters == NONE:
        return []
    names = {c.name for c in design.channels}
    if design.counters == UNITS:
        names = {name for unit in design.units for name in [*unit.outputs.values()][:1]}
    return [number for number, c in enumerate(design.channels) if c.name in names]
