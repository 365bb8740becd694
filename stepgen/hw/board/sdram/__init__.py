"""A controller for an SDR SDRAM whose every cycle is predicted."""

from .controller import SdramMemory
from .pins import SdramPins

__all__ = ["SdramMemory", "SdramPins"]
