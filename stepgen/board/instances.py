"""The parts of a board's circuit under the names that people know."""

from __future__ import annotations

from stepgen.hw.design.table import Design
from stepgen.hw.names import epilogue_name, fifo_name, restop_name, verilog_name
from stepgen.synth.netlist import Groups

BOARD = "board"
"""Instance of `stepgen.hw.board.top.BoardTop` in `stepgen.hw.board.chip.Chip`."""

LINK, MEMORY, STREAMS, CHIP = "the link", "the memory", "the stream buffers", "clock and pins"
AROUND = (LINK, MEMORY, STREAMS, CHIP)
"""What stands around a design."""

CONTROL = "control and counters"
_LINK = ("receiver", "decoder", "requests", "server", "closer", "encoder", "sender", "registers")
_MEMORY = ("memory", "memory_space")


def groups(design: Design) -> Groups:
    """Names of the instances on a board: units, channels, and what stands around them."""
    system = f"{BOARD}.system"
    inner = f"{system}.accelerator"
    paths = {BOARD: LINK, system: CONTROL}
    paths |= {f"{BOARD}.{name}": LINK for name in _LINK}
    paths |= {f"{BOARD}.{name}": MEMORY for name in _MEMORY}
    for unit in design.units:
        own, behind = verilog_name(unit.name), [restop_name(unit, port) for port in unit.outputs]
        parts = (own, epilogue_name(unit), *behind)
        paths |= {f"{inner}.{part}": unit_name(unit.name) for part in parts}
        paths[f"{BOARD}.buffer_{own}"] = STREAMS
    for channel in design.channels:
        # Cells behind a net of its head or tail can be called after that.
        parts = (fifo_name(channel), f"{channel.name}__r", f"{channel.name}__w")
        paths |= {f"{inner}.{part}": channel_name(channel.name) for part in parts}
    return Groups(paths, CHIP)


def unit_name(name: str) -> str:
    """How a report names a unit."""
    return f"unit {name}"


def channel_name(name: str) -> str:
    """How a report names the FIFO of a channel."""
    return f"FIFO {name}"
