"""The circuits of which a design consists, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stepgen.hw import private
from stepgen.hw.accelerator import FIFO
from stepgen.hw.design.table import Design
from stepgen.hw.fifo import Fifo
from stepgen.hw.primitives import Device
from stepgen.hw.unit import core_of

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
    for unit in design.units:
        text = private.module(core_of(unit, design.seen_by(unit)), _TOP, device)
        yield Circuit(unit.name, unit.kind, text)
    for channel in design.channels:
        yield Circuit(channel.name, FIFO, private.module(Fifo(channel), _TOP, device))
