"""A unit that stands alone, between ports, for a circuit of one's own."""

from __future__ import annotations

import re
from collections.abc import Sequence

from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.table import Bus, Channel, Design, Unit
from stepgen.hw.units.sink.params import Sink
from stepgen.hw.units.source.params import Source
from stepgen.ir.arguments import checked
from stepgen.ir.errors import StepError

__all__ = ["alone"]

PIPELINED = re.compile(r"y(_\d+)?$")
"""Ports that `UnitParams.delay` is of."""


@checked
def alone(
    params: UnitParams,
    channels: Sequence[Channel],
    *,
    lanes: int | None = None,
) -> Design:
    """A design of one unit, whose streams are ports of the design.

    Its circuit is ``Accelerator(design)``, its cycle model ``predict(design, …)``.

    Parameters
    ----------
    params : UnitParams
        The kind of the unit and its parameters.
    channels : sequence of Channel
        The FIFO of each port of the unit, named as the port. One behind a pipeline gets its delay,
        and is made as deep as one beat per cycle needs.
    lanes : int, optional
        Lanes of the unit; by default those of its widest channel.

    Returns
    -------
    Design
        A member ``<port>`` of its circuit is the stream of that port.

    Raises
    ------
    StepError
        If a port has no channel or a channel no port, the unit does not fit them, or it talks to
        a memory bus.
    """
    kind, given = params.kind, {channel.name: channel for channel in channels}
    ports = (*params.inputs, *params.outputs)
    for name in (*ports, *given):
        if name not in given or name not in ports:
            raise StepError(
                f"the unit {kind} alone has the ports {', '.join(ports)}, each with the channel of "
                f"its name, not {', '.join(given) or 'none'}"
            )
    for channel in channels:
        if channel.rank is None:
            raise StepError(
                f"the unit {kind} can't be alone: its {channel.name} carries words without "
                f"structure, which another unit has to take"
            )
    width = lanes or max([1, *(channel.lanes for channel in channels)])
    behind = {port: params.delay(width) for port in params.outputs if PIPELINED.match(port)}
    units = [Unit(port, Source(), {}, {"y": port}) for port in params.inputs]
    units += [Unit.in_order(kind, params, params.inputs, params.outputs)]
    units += [Unit(port, Sink(), {"x": port}, {}) for port in params.outputs]
    table = tuple(channel.pipelined(behind.get(channel.name, 0)) for channel in channels)
    return Design(kind, width, Bus(), tuple(units), table)
