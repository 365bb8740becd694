"""The interface of a design: ports, channels, registers, memory; for benches and wrappers."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass

from stepgen.emit.windows import MOST_BYTES, Window, Windows, windows_of
from stepgen.hw.design.registers import (
    UNTOLD,
    address_bits,
    cause_of,
    end_address,
    number_of,
    register_map,
)
from stepgen.hw.design.table import Channel, Design, width_of
from stepgen.hw.names import top_name, verilog_name
from stepgen.hw.units.axi.params import Axi
from stepgen.hw.units.sink.params import Sink
from stepgen.hw.units.source.params import Source
from stepgen.ir.dtypes import INTEGERS, bool_
from stepgen.ir.errors import StepError
from stepgen.ir.names import identifier
from stepgen.ir.records import parsed, record
from stepgen.ir.stalls import MEMORY_CHANNELS
from stepgen.ir.wire import KIND_BITS

NO_DATA = "none"
"""Element type of a port without lanes, whose stream is read for its structure alone."""


@dataclass(frozen=True)
class StreamPort:
    """A stream that enters or leaves a design.

    Its signals are ``<signal>_valid``, ``<signal>_ready`` and ``<signal>_payload``; the payload is
    ``{data, stop, kind}`` with the 2 bits of kind lowest.

    Parameters
    ----------
    name : str
        As the user gave it.
    direction : "in" or "out"
        Seen from the design.
    lanes, bits : int
        Lanes of a beat and bits of one lane; both 0 where the stream's data are unused.
    stop_bits, data_bits : int
        Widths of the fields of the payload; the data field may be wider than its lanes.
    element : str
        Name of the element type, as in `stepgen.ir.dtypes`, or `NO_DATA`.
    raw : bool
        Whether the payload is data alone, without structure.
    tail : int
        Lanes that the last beat of a row fills, the others are padding; 0 if it fills all.
    """

    name: str
    direction: str
    lanes: int
    bits: int
    stop_bits: int
    data_bits: int
    element: str = "int8"
    raw: bool = False
    tail: int = 0

    @property
    def signal(self) -> str:
        """Prefix of its signals in Verilog."""
        return str(verilog_name(self.name))

    @property
    def width(self) -> int:
        """Width of the payload in bits."""
        return self.data_bits + (0 if self.raw else KIND_BITS + self.stop_bits)

    @property
    def payload_bytes(self) -> int:
        """Bytes that hold one payload, little-endian."""
        return (self.width + 7) // 8


@dataclass(frozen=True)
class MemoryPort:
    """The AXI4 master of a design.

    Parameters
    ----------
    data_bits, address_bits : int
        Widths of the bus.
    windows : tuple of Window
        Address ranges of the simulated memory: addresses and numbers of bytes, in rising order. An
        image has the bytes of the windows one after the other; it may be shorter, not longer.
    """

    data_bits: int = 64
    address_bits: int = 32
    windows: tuple[Window, ...] = ((0, 1 << 20),)

    def __post_init__(self) -> None:
        if self.data_bits < 8 or self.data_bits & (self.data_bits - 1):
            raise StepError(
                f"memory port: data width must be a power of two of bits, not {self.data_bits}"
            )
        end = 0
        for base, size in self.windows:
            if base % self.word or size < 1 or size % self.word:
                raise StepError(
                    f"memory port: a window must be a multiple of {self.word} bytes, not {size} "
                    f"from {base} on"
                )
            if base < end or width_of(base + size) > self.address_bits:
                raise StepError(
                    f"memory port: a window of {size} bytes from {base} on does not lie between "
                    f"the one before it and the end of {self.address_bits} bits of address"
                )
            end = base + size
        if not 1 <= self.size <= MOST_BYTES:
            raise StepError(
                f"memory port: a simulation holds 1 to {MOST_BYTES} bytes, not {self.size}"
            )

    @property
    def word(self) -> int:
        """Bytes of one bus word."""
        return self.data_bits // 8

    @property
    def size(self) -> int:
        """Bytes of all windows."""
        return Windows(self.windows).size


@dataclass(frozen=True)
class Said:
    """What the registers ``error_code`` and ``detail`` say.

    Parameters
    ----------
    unit : str
        Name of the unit in error.
    cause : int
        In the register ``detail``.
    text : str
        The sentence, with ``{}`` for the number, if it has one.
    """

    unit: str
    cause: int
    text: str


@dataclass(frozen=True)
class Interface:
    """The interface of a design.

    Parameters
    ----------
    name : str
        Of the design and of its top module.
    ports : tuple of StreamPort
        Input and output streams.
    channels : tuple of str
        Names of the channels in the order of the bits of ``probe_push`` and ``probe_pop``.
    memory : MemoryPort or None
        None for a design without off-chip operators.
    control : bool
        Whether there are control registers and ``running``, ``cycle`` and ``done``. A single unit
        may do without: then the wrapper counts the cycles, and the run ends when every output
        stream has ended.
    csr_bits : int
        Width of the addresses of the control registers.
    units : tuple of str
        Names of the units in the order in which the error code counts them.
    errors : tuple of Said
        What they say, by unit and cause.

    Raises
    ------
    StepError
        Where a name is used twice or is not an identifier.
    """

    name: str
    ports: tuple[StreamPort, ...] = ()
    channels: tuple[str, ...] = ()
    memory: MemoryPort | None = None
    control: bool = True
    csr_bits: int = 16
    units: tuple[str, ...] = ()
    errors: tuple[Said, ...] = ()

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for port in self.ports:
            identifier(port.name, f"design {self.name}: the name of a port")
            if port.direction not in ("in", "out"):
                raise StepError(
                    f"design {self.name}: port {port.name} must be 'in' or 'out', "
                    f"not {port.direction!r}"
                )
            if port.name in seen:
                raise StepError(f"design {self.name}: two ports are called {port.name}")
            seen.add(port.name)
        if len(set(self.channels)) != len(self.channels):
            twice = next(c for c in self.channels if self.channels.count(c) > 1)
            raise StepError(f"design {self.name}: two channels are called {twice}")
        if not 1 <= self.csr_bits <= 64:
            raise StepError(f"design {self.name}: csr_bits must be 1 to 64, not {self.csr_bits}")
        if end_address(len(self.channels)) > 1 << self.csr_bits:
            raise StepError(
                f"design {self.name}: {self.csr_bits} address bits do not reach the counters of "
                f"{len(self.channels)} channels"
            )

    @property
    def sources(self) -> tuple[StreamPort, ...]:
        """Input ports, in order."""
        return tuple(p for p in self.ports if p.direction == "in")

    @property
    def sinks(self) -> tuple[StreamPort, ...]:
        """Output ports, in order."""
        return tuple(p for p in self.ports if p.direction == "out")

    @property
    def recorded(self) -> tuple[str, ...]:
        """Names of everything that the recorder records.

        The channels come first, with pushes and pops; then the stream ports as ``port:<name>`` and
        the memory's channels as ``mem.ar`` …, whose handshakes count as pushes.
        """
        ports = tuple(f"port:{p.name}" for p in self.ports)
        memory = MEMORY_CHANNELS if self.memory else ()
        return self.channels + ports + memory

    def explained(self, code: int, detail: int) -> str:
        """What the registers of these values say; empty for no error, and for no unit."""
        if not 0 < code <= len(self.units):
            return ""
        unit, cause = self.units[code - 1], cause_of(detail)
        said = {one.cause: one.text for one in self.errors if one.unit == unit}
        text = said.get(cause) or said.get(UNTOLD) or f"{unit} met what its program excludes"
        return text.format(number_of(detail))

    def to_json(self) -> str:
        """The interface as text; with control registers, their map is in it."""
        registers = {"registers": register_map()} if self.control else {}
        return json.dumps(dataclasses.asdict(self) | registers, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Interface:
        """The interface that `to_json` wrote.

        Raises
        ------
        StepError
            If it is not an interface, or its control registers are not those of `register_map`.
        """
        data = parsed(text, "the interface")
        if isinstance(data, dict) and data.pop("registers", register_map()) != register_map():
            raise StepError(
                "the interface: its control registers are not those of this version of stepgen"
            )
        return record(data, cls, "the interface")


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
