"""Primitives that FPGAs have as hard blocks.

Each is one component with one timing: on a supported device the hard block with its own registers,
elsewhere (simulation, plain Verilog) the same behaviour for any tool to map.
"""

from stepgen.hw.primitives.block_ram import BlockRam
from stepgen.hw.primitives.counter import after, counter, stepped
from stepgen.hw.primitives.delay import delayed
from stepgen.hw.primitives.device import (
    GENERIC,
    Device,
    is_ecp5,
    is_gowin,
    is_ice40,
    read_at_once,
    stored_in,
)
from stepgen.hw.primitives.multiplier import Multiplier
from stepgen.hw.primitives.near import copies, resets
from stepgen.hw.primitives.rom import Rom
from stepgen.hw.primitives.single_port import SinglePortRam

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
    "stored_in",
]
