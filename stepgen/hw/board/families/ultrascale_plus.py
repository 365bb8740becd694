"""AMD UltraScale+, also in Zynq and Alveo: MMCME4, pins.

Limits at speed grade -1: Zynq UltraScale+ MPSoC Data Sheet: DC and AC Switching Characteristics
(DS925), MMCM and clock buffers; dividers: UltraScale Architecture Clocking Resources (UG572).
"""

from stepgen.hw.board.mmcm import MmcmFamily

__all__ = ["UltrascalePlus"]


class UltrascalePlus(MmcmFamily):
    """AMD UltraScale+."""

    name = "ultrascale_plus"
    block, double = "MMCME4_BASE", "ODDRE1"
    most_factor = 128
    input_hz = (10_000_000, 800_000_000)
    phase_hz = (10_000_000, 450_000_000)
    vco_hz = (800_000_000, 1_600_000_000)
    output_hz = (6_250_000, 667_000_000)
