"""Device that a circuit is elaborated for."""

from dataclasses import dataclass

__all__ = [
    "GENERIC",
    "Device",
    "is_ecp5",
    "is_gowin",
    "is_ice40",
    "is_xilinx",
    "read_at_once",
    "stored_in",
]

INTEL = {"distributed": "MLAB", "registers": "logic"}
"""Their names for what a memory is made of. Those of block RAM depend on the device, and its tools
take that for what is large enough anyway; of LUTs they make memories where these names say so."""


@dataclass(frozen=True)
class Device:
    """A platform without a board: its family alone, for synthesis out of context."""

    family: str


GENERIC = Device("generic")
"""Verilog that any tool maps to any silicon."""


def is_ecp5(platform) -> bool:
    """Whether `platform` (an Amaranth platform, a `Device` or None) is a Lattice ECP5."""
    return getattr(platform, "family", None) == "ecp5"


def is_gowin(platform) -> bool:
    """Whether `platform` is a Gowin GW2A or GW2AR."""
    return getattr(platform, "family", None) == "gowin"


def is_ice40(platform) -> bool:
    """Whether `platform` is a Lattice iCE40 UltraPlus."""
    return getattr(platform, "family", None) == "ice40"


def is_xilinx(platform) -> bool:
    """Whether `platform` is an AMD of the 7 series, by its blocks.

    Those of boards that Vivado builds for are left to it, which finds all registers by itself.
    """
    return getattr(platform, "family", None) == "xilinx"


def read_at_once(platform) -> dict[str, str]:
    """The attributes of a small memory that is read in the cycle of its address.

    It becomes LUT RAM, or registers where a family has none.
    """
    return stored_in("registers" if is_ice40(platform) else "distributed")


def stored_in(what: str) -> dict[str, str]:
    """The attributes of a memory that is meant to be made of something.

    Parameters
    ----------
    what : {"block", "distributed", "registers"}
        Block RAM, LUT RAM or registers, as Yosys and AMD call it.
    """
    return {"ram_style": what} | ({"ramstyle": INTEL[what]} if what in INTEL else {})
