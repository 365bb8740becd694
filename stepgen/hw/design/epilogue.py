"""Epilogues: element-wise functions of what leaves a unit, on the way to the FIFO."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stepgen.hw.design.params import UnitParams, params_from
from stepgen.ir.records import record

if TYPE_CHECKING:
    from stepgen.hw.design.table import Channel

REGISTERED = 1
"""Cycles in front of the function, whose operand may come from logic of the unit."""


@dataclass(frozen=True)
class Epilogue:
    """A function that is applied to the payload of an output, and so takes neither unit nor FIFO.

    The handshake is that of the unit: the payload is there some cycles later.

    Parameters
    ----------
    port : str
        The unit's output.
    element : str
        Element type of a lane that leaves the unit.
    bits : int
        Bits of such a lane.
    params : UnitParams
        Of the unit that would compute the function by itself, of one operand.
    """

    port: str
    element: str
    bits: int
    params: UnitParams

    def to_record(self) -> dict[str, object]:
        """The epilogue as JSON values."""
        return dataclasses.asdict(self) | {"kind": self.params.kind}

    @classmethod
    def from_record(cls, data: Mapping[str, Any], what: str) -> Epilogue:
        """The epilogue from JSON values, which came from `what`.

        Raises
        ------
        StepError
            If a field is missing, unknown or of another type, or there is no such kind.
        """
        row = record(dict(data), _Row, what)
        params = params_from(row.kind, row.params, f"the params of {what}")
        return cls(row.port, row.element, row.bits, params)

    def problem(self, channel: Channel, lanes: int) -> str | None:
        """What is wrong with it in front of a channel, or None."""
        taken = self.params.applied(self.element, self.bits)
        if isinstance(taken, str):
            return taken
        if channel.rank is None or channel.bits != taken:
            return f"makes numbers of {taken} bits, not what {channel.name} carries"
        late = self.delay(lanes)
        return f"takes {late} cycles, not {channel.delay}" if channel.delay < late else None

    def delay(self, lanes: int) -> int:
        """Cycles from the unit's payload to that of the channel."""
        return REGISTERED + self.params.delay(lanes)

    def before(self, channel: Channel, lanes: int) -> Channel:
        """The channel of the output as the unit sees it."""
        return dataclasses.replace(
            channel,
            element=self.element,
            bits=self.bits,
            delay=channel.delay - self.delay(lanes),
        )


@dataclass(frozen=True)
class _Row:
    """An epilogue in a file."""

    port: str
    element: str
    bits: int
    kind: str
    params: Mapping[str, Any]
