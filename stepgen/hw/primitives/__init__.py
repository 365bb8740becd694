"""Primitives that FPGAs have as hard blocks.

Each is one component with one timing: on a supported device the hard block with its own registers,
elsewhere (simulation, plain Verilog) the same behaviour for any tool to map.
"""

from .block_ram import BlockRam
from .counter import after, counter, stepped
from .delay import delayed
from .device import GENERIC, Device, is_ecp5, is_gowin, is_ice40, read_at_once
from .multiplier import Multiplier
from .near import copies, resets
from .rom import Rom
from .single_port import SinglePortRam

__all__ = [
    "GENERIC",
    "BlockRam",
    "Device",
    "Multiplier",
    "Rom",
    "SinglePortRam",
    "after",
    "copies",
    "counter",
    "delayed",
    "is_ecp5",
    "is_gowin",
    "is_ice40",
    "read_at_once",
    "resets",
    "stepped",
]
