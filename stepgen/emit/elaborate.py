"""Verilog of a design table, and the description of its interface for test benches."""

from __future__ import annotations

from ..hw.design.registers import address_bits
from ..hw.design.table import Channel, Design
from ..hw.units.axi.params import Axi
from ..hw.units.sink.params import Sink
from ..hw.units.source.params import Source
from ..hw.verilog import generator, to_verilog, top_name
from ..ir.dtypes import INTEGERS, bool_
from ..ir.errors import StepError
from ..ir.versions import version
from ..program.design_folder import hash_words
from .interface import NO_DATA, Interface, MemoryPort, Said, StreamPort
from .modules import kept_modules
from .windows import windows_of

_ELEMENTS = {e.bits: e.name for e in (bool_, *INTEGERS)}
"""Element types by the bits of a lane, where a channel names none."""


def _element(channel: Channel) -> str:
    if not channel.lanes:
        return NO_DATA
    element = channel.element or _ELEMENTS.get(channel.bits)
    if element is None:
        raise StepError(f"channel {channel.name}: no element type has {channel.bits} bits")
    return element


def interface(design: Design) -> Interface:
    """The interface of the Verilog of a design.

    Parameters
    ----------
    design : Design

    Raises
    ------
    StepError
        Where no element type has the bits of a port's lanes.
    """
    ports = []
    for unit in design.units:
        if isinstance(unit.params, (Source, Sink)):
            channel = design.channel[(*unit.inputs.values(), *unit.outputs.values())[0]]
            ports.append(
                StreamPort(
                    name=unit.name,
                    direction="in" if isinstance(unit.params, Source) else "out",
                    lanes=channel.lanes,
                    bits=channel.bits,
                    stop_bits=channel.stop_bits,
                    data_bits=channel.data_bits,
                    element=_element(channel),
                    raw=channel.rank is None,
                    tail=channel.tail,
                )
            )
    memory = None
    if any(design.of_kind(Axi)):
        memory = MemoryPort(design.bus.data_bits, design.bus.address_bits, windows_of(design))
    return Interface(
        name=top_name(design),
        ports=tuple(ports),
        channels=tuple(c.name for c in design.channels),
        memory=memory,
        csr_bits=address_bits(len(design.channels)),
        units=tuple(unit.name for unit in design.units),
        errors=tuple(
            Said(unit.name, cause, text)
            for unit in design.units
            for cause, text in unit.params.errors(unit, design.seen_by(unit)).items()
        ),
    )


def verilog(design: Design, *, probes: bool = False, initial: bool = True) -> str:
    """Verilog of a design, behind a line that names it; see `stepgen.hw.verilog.to_verilog`.

    The same design and the same stepgen make the same text.

    Parameters
    ----------
    design : Design
    probes : bool
        Whether the handshakes of all channels are outputs, for test benches.
    initial : bool
        Whether registers and memories have initial values; test benches simulate without.
    """
    text: str = to_verilog(design, probes=probes, initial=initial, kept=kept_modules())
    return f"// {design.name}: stepgen {version()}, {hash_words(design.hash)}\n{text}"


def made_by(design: Design) -> str:
    """SHA-256 of all that `verilog` depends on beside the design."""
    key: str = generator(design)
    return key
