"""What idle wires carry: nothing that a design may depend on."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.types import LogicArray

FOUR_STATE = cocotb.SIM_NAME != "Verilator"
"""Whether the simulator knows X."""


def idle(width: int) -> int | LogicArray:
    """What an idle wire carries: X, or on a simulator with two states other bits in each cycle."""
    return LogicArray("X" * width) if FOUR_STATE else random.getrandbits(width)


def junk(*signals: Any) -> None:
    """Put junk on idle wires."""
    for signal in signals:
        signal.value = idle(len(signal))
