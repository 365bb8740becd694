"""The circuits of which a design consists, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stepgen.hw import private
from stepgen.hw.accelerator import FIFO, Accelerator
from stepgen.hw.design.table import Design
from stepgen.hw.fifo import Fifo
from stepgen.hw.primitives import Device

_TOP = "top"


@dataclass(frozen=True)
class Circuit:
    """A unit, or the FIFO of a channel.

    Attributes
    ----------
    name, kind : str
        The unit's or channel's name; the unit's kind or `FIFO`.
    text : str
        Its RTLIL, as the module ``top``.
    """

    name: str
    kind: str
    text: str


def circuits(design: Design, family: str) -> Iterator[Circuit]:
    """The units of a design, then its FIFOs, each by itself.

    Parameters
    ----------
    design : Design
    family : str
        Of the FPGA, whose hard blocks are instantiated.
    """
    device = Device(family)
    accelerator = Accelerator(design)
    private.reused(accelerator)
    for unit in design.units:
        text = private.module(accelerator.cores[unit.name], _TOP, device)
        yield Circuit(unit.name, unit.kind, text)
    for channel in design.channels:
        yield Circuit(channel.name, FIFO, private.module(Fifo(channel), _TOP, device))
