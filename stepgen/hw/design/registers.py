"""Register map of the control registers, for circuit, test benches, C header and documentation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

WORD = 4
"""Bytes of a register."""


@dataclass(frozen=True)
class Bit:
    """One bit of a register.

    Parameters
    ----------
    name : str
    position : int
        0 for the lowest.
    meaning : str
        What 1 means, or does.
    """

    name: str
    position: int
    meaning: str

    @property
    def mask(self) -> int:
        """The register's value where this bit alone is set."""
        return 1 << self.position


@dataclass(frozen=True)
class Register:
    """One register, or one number in two registers, the lower word first.

    Parameters
    ----------
    name : str
    offset : int
        Address in bytes; of a channel's counter relative to the channel's first.
    access : "read" or "write"
        Access by the host; other accesses have no effect, and read 0.
    meaning : str
    bits : tuple of Bit
        Fields of one bit, if it has any.
    words : int
        1 or 2.
    """

    name: str
    offset: int
    access: str
    meaning: str
    bits: tuple[Bit, ...] = ()
    words: int = 1

    @property
    def offsets(self) -> tuple[int, ...]:
        """Address of every word."""
        return tuple(self.offset + WORD * k for k in range(self.words))


START = Bit("start", 0, "starts a run, unless one is running")
SOFT_RESET = Bit("soft_reset", 1, "aborts the run; with `start` set too, the next one follows")
RUNNING = Bit("running", 0, "a run is in progress")
DONE = Bit("done", 1, "the last run is complete, and was not aborted")
ERROR = Bit("error", 2, "a unit saw input that the program rules out")
STOPPING = Bit("stopping", 3, "a soft reset is in progress")

CONTROL = Register("control", 0x00, "write", "", (START, SOFT_RESET))
STATUS = Register("status", 0x04, "read", "", (RUNNING, DONE, ERROR, STOPPING))
ERROR_CODE = Register(
    "error_code",
    0x08,
    "read",
    "number of the first unit in error, in the order of the design table, counted from 1; "
    "0 for none",
)
DETAIL = Register(
    "detail",
    0x0C,
    "read",
    "of this unit: the cause in the 4 highest bits, below it a number that belongs to it; 0 if "
    "there is none",
)
CYCLES = Register("cycles", 0x10, "read", "of the run", words=2)
READ_BEATS = Register("read_beats", 0x18, "read", "words read over the memory bus in the run")
WRITE_BEATS = Register("write_beats", 0x1C, "read", "words written over it")

REGISTERS = (CONTROL, STATUS, ERROR_CODE, DETAIL, CYCLES, READ_BEATS, WRITE_BEATS)
"""Registers that a design has once."""

NUMBER_BITS = 28
"""Bits of the number in `DETAIL`; a larger one is all ones."""

UNTOLD, TOO_LARGE, STRUCTURE, OUT_OF_RANGE = 0, 1, 2, 4
"""Causes in `DETAIL`."""

CAUSES = {
    UNTOLD: "what the unit excludes; no number",
    TOO_LARGE: "a buffer, or a tile of weights, has more rows or columns than its memory is for; "
    "those so far, and all of them once the last one has come",
    STRUCTURE: "streams have different structure; no number",
    OUT_OF_RANGE: "an address is past the last tile; its number",
}
"""By cause what it is, and its number."""

CHANNEL_BASE, CHANNEL_STRIDE = 0x1000, 16
"""Address of the counters of channel 0, and from one channel's to the next's."""

COUNTERS = (
    Register("busy", 0x0, "read", "cycles in which a beat left the channel"),
    Register("starved", 0x4, "read", "cycles in which its head was empty"),
    Register("full", 0x8, "read", "cycles in which it had no free slot"),
)
"""Registers that every channel has."""

END = REGISTERS[-1].offsets[-1] + WORD
"""First address behind `REGISTERS`."""

MIN_ADDRESS_BITS = 16
"""Bits of an address in a design of few channels."""


def cause_of(detail: int) -> int:
    """The cause in the register `DETAIL`."""
    return detail >> NUMBER_BITS


def number_of(detail: int) -> str:
    """The number in the register `DETAIL`, as people read it."""
    number, most = detail & (1 << NUMBER_BITS) - 1, (1 << NUMBER_BITS) - 1
    return f"at least {number}" if number == most else str(number)


def detail_of(cause: int, number: int) -> int:
    """What the register `DETAIL` is for a cause and a number."""
    return cause << NUMBER_BITS | min(number, (1 << NUMBER_BITS) - 1)


def counter_address(channel: int, counter: int) -> int:
    """Address of a channel's counter, both by number."""
    return CHANNEL_BASE + CHANNEL_STRIDE * channel + COUNTERS[counter].offset


def end_address(channels: int) -> int:
    """First address behind the counters of `channels` channels."""
    return CHANNEL_BASE + CHANNEL_STRIDE * channels


def address_bits(channels: int) -> int:
    """Bits of an address that reaches the counters of `channels` channels."""
    return max(MIN_ADDRESS_BITS, (end_address(channels) - 1).bit_length())


def register_map() -> dict[str, Any]:
    """The map as data, for JSON: registers of a design, and of each of its channels."""
    return {
        "word_bytes": WORD,
        "registers": [_data(register) for register in REGISTERS],
        "channels": {
            "base": CHANNEL_BASE,
            "stride": CHANNEL_STRIDE,
            "registers": [_data(counter) for counter in COUNTERS],
        },
    }


def _data(register: Register) -> dict[str, Any]:
    data: dict[str, Any] = {
        "name": register.name,
        "offset": register.offset,
        "words": register.words,
        "access": register.access,
    }
    if register.meaning:
        data["meaning"] = register.meaning
    if register.bits:
        data["bits"] = [
            {"name": b.name, "position": b.position, "meaning": b.meaning} for b in register.bits
        ]
    return data
