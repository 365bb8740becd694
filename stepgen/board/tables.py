"""Tables of a board's file, as ``docs/adding-a-board.md`` describes them."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Clock:
    """The clock of a board, and the one that designs are to have.

    Attributes
    ----------
    pin : str or tuple of str
        Two of a differential pair, the positive one first.
    hz, design_hz : int
        Of the board, and of designs at most.
    """

    pin: str | tuple[str, ...]
    hz: int
    design_hz: int


@dataclass(frozen=True)
class LinkTable:
    """The serial link to a host.

    Attributes
    ----------
    rx, tx : str
        Pins, seen from the FPGA.
    baud : int
        Bits per second.
    usb : str
        Vendor and product of the USB device, hexadecimal, with a colon between.
    """

    rx: str
    tx: str
    baud: int
    usb: str


@dataclass(frozen=True)
class SdramChip:
    """The data sheet of an SDRAM, see `stepgen.ir.sdram_timing.SdramTiming`.

    Attributes
    ----------
    data_bits, column_bits, row_bits : int
    cas, mrd : int
        Cycles.
    rcd, rp, ras, rc, wr, rfc, refi : float
        Nanoseconds.
    wake_us : float
        Microseconds.
    """

    data_bits: int
    column_bits: int
    row_bits: int
    cas: int
    rcd: float
    rp: float
    ras: float
    rc: float
    wr: float
    rfc: float
    mrd: int
    refi: float
    wake_us: float


@dataclass(frozen=True)
class SdramWay:
    """How long signals between FPGA and SDRAM take, see `stepgen.ir.sdram_clock.sdram_clock`.

    Attributes
    ----------
    setup, hold : float
        Nanoseconds.
    round_trip : (float, float)
        Nanoseconds, the least and the most.
    """

    setup: float
    hold: float
    round_trip: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class SdramPins:
    """Sites of an SDRAM's pins; some boards do not connect ``cke`` and ``cs_n``."""

    clk: str
    cke: str | None = None
    cs_n: str | None = None
    ras_n: str
    cas_n: str
    we_n: str
    ba: tuple[str, ...]
    a: tuple[str, ...]
    dqm: tuple[str, ...]
    dq: tuple[str, ...]

    def sites(self) -> dict[str, str | tuple[str, ...]]:
        """Those that are connected, by name."""
        found = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: sites for name, sites in found.items() if sites is not None}


@dataclass(frozen=True)
class MemoryTable:
    """Where tensors lie.

    Attributes
    ----------
    kind : str
        ``block``, ``spram`` or ``sdram``.
    bytes : int, optional
        Of the first two.
    chip, way, pins : optional
        Of an SDRAM.
    """

    kind: str
    bytes: int | None = None
    chip: SdramChip | None = None
    way: SdramWay | None = None
    pins: SdramPins | None = None


@dataclass(frozen=True)
class Streams:
    """The buffers of ports, of so many beats."""

    beats: int


@dataclass(frozen=True)
class Led:
    """Sites of LEDs: `running` is high while the design runs."""

    running: str


@dataclass(frozen=True)
class ProgramTable:
    """How a bitstream gets onto a board.

    Attributes
    ----------
    options : tuple of str
        Of openFPGALoader.
    usb : str, optional
        The USB device of the programmer, where it is not that of the link.
    """

    options: tuple[str, ...]
    usb: str | None = None


@dataclass(frozen=True)
class Vivado:
    """A board whose bitstreams only Vivado makes.

    Attributes
    ----------
    part : str
    device : str
        What the part is called at the end of its cable.
    design : dict of str to str
        Properties of the configuration.
    """

    part: str
    device: str
    design: dict[str, str]
