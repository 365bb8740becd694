"""AMD Artix-7: MMCME2, pins.

Limits at speed grade -1: Artix-7 FPGAs Data Sheet: DC and AC Switching Characteristics (DS181),
MMCM and clock buffers; dividers: 7 Series FPGAs Clocking Resources (UG472).
"""

from stepgen.hw.board.mmcm import MmcmFamily

__all__ = ["Artix7"]


class Artix7(MmcmFamily):
    """AMD Artix-7."""

    name = "artix7"
    block, double = "MMCME2_BASE", "ODDR"
    most_factor = 64
    input_hz = (10_000_000, 800_000_000)
    phase_hz = (10_000_000, 450_000_000)
    vco_hz = (600_000_000, 1_200_000_000)
    output_hz = (4_690_000, 464_000_000)
