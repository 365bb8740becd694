"""The buses of a design as standards name them: signals with widths, streams, parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from stepgen.emit.interface import Interface, StreamPort, interface
from stepgen.hw import axi
from stepgen.hw.design.table import Design
from stepgen.ir.wire import KIND_BITS

_UNSAID = {
    f"{channel}{name}": width
    for channel in ("ar", "aw")
    for name, width in (("id", 1), ("lock", 1), ("cache", 4), ("prot", 3), ("qos", 4))
}
"""Signals of an AXI4 master that a design says nothing of, with their widths."""

_ANSWERED = {"rid": 1, "bid": 1}
"""Answers to them."""

_PROTECTED = {"awprot": 3, "arprot": 3}
"""Signals of an AXI4-Lite slave that a design does not look at."""


class Signal(NamedTuple):
    """A signal of a bus: its name, width in bits, and whether the master drives it."""

    name: str
    width: int
    by_master: bool

    @property
    def range(self) -> str:
        """In Verilog."""
        return f"[{self.width - 1}:0] " if self.width > 1 else ""


@dataclass(frozen=True)
class Stream:
    """A stream port as AXI4-Stream.

    Parameters
    ----------
    port : StreamPort
    outermost : int or None
        The stop of the outermost dim, where there is one.
    """

    port: StreamPort
    outermost: int | None

    @property
    def enters(self) -> bool:
        """Whether it is an input."""
        return self.port.direction == "in"

    @property
    def signal(self) -> str:
        """What the names of the design's signals begin with."""
        return self.port.signal

    @property
    def bus(self) -> str:
        """What those of the wrapper begin with."""
        return f"{'s' if self.enters else 'm'}_axis_{self.port.signal}"

    @property
    def width(self) -> int:
        """Bits of the payload."""
        return self.port.width

    @property
    def data_bits(self) -> int:
        """Bits of its data."""
        return self.port.data_bits

    @property
    def stop_bits(self) -> int:
        """Bits of its stop."""
        return self.port.stop_bits

    @property
    def user_bits(self) -> int:
        """Bits of kind and stop."""
        return KIND_BITS + self.port.stop_bits

    @property
    def spare(self) -> int:
        """Bits that fill the last byte."""
        return -self.data_bits % 8


@dataclass(frozen=True)
class BusPort:
    """A bus of the AXI wrapper.

    Parameters
    ----------
    name : str
        What the names of its signals begin with, before an underscore.
    kind : "aximm" or "axis"
        As tools of AMD name it.
    master : bool
        Whether the wrapper is its master.
    signals : tuple of Signal
    parameters : dict of str to str
        Bus parameters for tools, by name.
    """

    name: str
    kind: str
    master: bool
    signals: tuple[Signal, ...]
    parameters: dict[str, str]

    @property
    def ports(self) -> list[tuple[str, bool, int]]:
        """Name, whether it leaves the wrapper, and width of each port."""
        return [
            (f"{self.name}_{s.name}", s.by_master == self.master, s.width) for s in self.signals
        ]


def inner_signals(bus: axi.Bus) -> list[Signal]:
    """Signals of a bus that the design itself has."""
    return [Signal(*wire) for wire in bus.wires()]


def axi_buses(design: Design) -> list[BusPort]:
    """The buses of the AXI wrapper of a design in the order of its ports.

    Parameters
    ----------
    design : Design
    """
    outside = interface(design)
    lite = inner_signals(axi.Axi4Lite(outside.csr_bits)) + _signals(_PROTECTED, True)
    said = {"PROTOCOL": "AXI4LITE", "DATA_WIDTH": "32", "ADDR_WIDTH": str(outside.csr_bits)}
    buses = [BusPort("s_axi", "aximm", False, _in_order(lite), said)]
    if outside.memory:
        full = inner_signals(axi.Axi4(outside.memory.address_bits, outside.memory.data_bits))
        full += [*_signals(_UNSAID, True), *_signals(_ANSWERED, False)]
        said = {
            "PROTOCOL": "AXI4",
            "DATA_WIDTH": str(outside.memory.data_bits),
            "ADDR_WIDTH": str(outside.memory.address_bits),
            "ID_WIDTH": "1",
            "MAX_BURST_LENGTH": str(design.bus.burst),
            "NUM_READ_OUTSTANDING": str(design.bus.outstanding),
            "NUM_WRITE_OUTSTANDING": str(design.bus.outstanding),
            "SUPPORTS_NARROW_BURST": "0",
        }
        buses.append(BusPort("m_axi", "aximm", True, _in_order(full), said))
    for stream in streams(design, outside):
        widths = {"tdata": stream.data_bits + stream.spare, "tuser": stream.user_bits}
        sent = _signals({**widths, "tlast": 1, "tvalid": 1}, True)
        fields = (*sent, Signal("tready", 1, False))
        buses.append(BusPort(stream.bus, "axis", not stream.enters, fields, {}))
    return buses


def streams(design: Design, outside: Interface) -> list[Stream]:
    """The streams of a design.

    Parameters
    ----------
    design : Design
    outside : Interface
        Its interface.
    """
    ranks: dict[str, int | None] = {}
    for unit in design.units:
        for name in (*unit.inputs.values(), *unit.outputs.values()):
            ranks.setdefault(unit.name, design.channel[name].rank)
    return [Stream(port, ranks[port.name] or None) for port in outside.ports]


def _signals(widths: dict[str, int], by_master: bool) -> list[Signal]:
    return [Signal(name, width, by_master) for name, width in widths.items()]


def _in_order(signals: list[Signal]) -> tuple[Signal, ...]:
    """Channel by channel, with the handshake as the last."""

    def place(signal: Signal) -> tuple[int, bool]:
        channel = signal.name[: 2 if signal.name.startswith("a") else 1]
        shakes = signal.name.endswith(("valid", "ready"))
        return ("aw", "w", "b", "ar", "r").index(channel), shakes

    return tuple(sorted(signals, key=place))
