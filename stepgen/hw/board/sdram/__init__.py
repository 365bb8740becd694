"""A controller for an SDR SDRAM whose every cycle is predicted."""

from stepgen.hw.board.sdram.controller import SdramMemory
from stepgen.hw.board.sdram.pins import SdramPins

__all__ = ["SdramMemory", "SdramPins"]
