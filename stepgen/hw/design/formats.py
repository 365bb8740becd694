"""Formats of channels, and the check that a unit's ports have the ones it needs."""

from __future__ import annotations

from typing import NamedTuple

from stepgen.hw.design.table import Channel, Design, Unit


class Format(NamedTuple):
    """Format of the channel that a unit expects at a port.

    Attributes
    ----------
    lanes, bits : int
        Lanes of a beat and bits of one lane. An output with stops may carry structure alone.
    rank : int or None
        Highest wire stop level, None for a raw channel.
    delay : int
        Stages of the pipeline before an output, in cycles. Not compared at inputs.
    """

    lanes: int
    bits: int
    rank: int | None
    delay: int = 0

    def __str__(self) -> str:
        rank = "raw" if self.rank is None else f"of rank {self.rank}"
        late = f" {_counted(self.delay, 'cycle')} late" if self.delay else ""
        return f"{rank} with {_counted(self.lanes, 'lane')} of {_counted(self.bits, 'bit')}{late}"


def misfit(unit: Unit, design: Design, **formats: Format) -> str | None:
    """What is wrong with the first port whose channel has another format, or None."""
    for port, wanted in formats.items():
        is_output = port in unit.outputs
        channel = design.channel[unit.outputs[port] if is_output else unit.inputs[port]]
        found = _format(channel, is_output)
        bare = wanted._replace(lanes=0, bits=0)
        may_be_bare = is_output and wanted.rank is not None
        if found != wanted and not (may_be_bare and found == bare):
            return f"{port} must be {wanted}, not {found}"
    return None


def _format(channel: Channel, is_output: bool) -> Format:
    return Format(channel.lanes, channel.bits, channel.rank, channel.delay if is_output else 0)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
