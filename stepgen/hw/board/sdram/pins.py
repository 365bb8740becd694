"""The wires between the controller and an SDR SDRAM."""

import enum

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from stepgen.ir.sdram_timing import SdramTiming

__all__ = ["Command", "SdramPins"]


class Command(enum.IntEnum):
    """RAS, CAS and WE, which are active low, highest first."""

    MODE = 0b000
    REFRESH = 0b001
    PRECHARGE = 0b010
    ACTIVATE = 0b011
    WRITE = 0b100
    READ = 0b101
    NOTHING = 0b111


class SdramPins(wiring.Signature):
    """Seen from the controller; ``cke`` and ``cs_n`` never change.

    Parameters
    ----------
    timing : SdramTiming
    """

    def __init__(self, timing: SdramTiming):
        self.timing = timing
        super().__init__(
            {
                "cke": Out(1, init=1),
                "cs_n": Out(1),
                "ras_n": Out(1, init=1),
                "cas_n": Out(1, init=1),
                "we_n": Out(1, init=1),
                "ba": Out(2),
                "a": Out(timing.address_bits),
                "dqm": Out(timing.data_bits // 8),
                "dq_o": Out(timing.data_bits),
                "dq_oe": Out(1),
                "dq_i": In(timing.data_bits),
            }
        )
