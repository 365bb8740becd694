"""The simulators of a design's Verilog."""

from __future__ import annotations

from typing import Literal, get_args

Simulator = Literal["verilator", "icarus"]
"""Two states, and random bits where nothing is defined; or four states, and X there."""

SIMULATORS: tuple[Simulator, ...] = get_args(Simulator)
