"""Lattice iCE40 UltraPlus: SB_PLL40_PAD, pins.

Limits of the PLL: Lattice, iCE40 UltraPlus Family Data Sheet (FPGA-DS-02008), sysCLOCK PLL timing;
dividers and filters: iCE40 sysCLOCK PLL Design and User Guide (FPGA-TN-02052).
"""

from collections.abc import Iterator
from fractions import Fraction

from amaranth.hdl import Const, Instance, Signal

from stepgen.hw.board.family import Family, Pll
from stepgen.hw.design.block_rams import Blocks

__all__ = ["Ice40"]

PHASE_HZ = (10_000_000, 133_000_000)
VCO_HZ = (533_000_000, 1_066_000_000)
OUTPUT_HZ = (16_000_000, 275_000_000)
MOST_DIVIDER, MOST_FACTOR = 16, 128
OUTPUTS = range(1, 7)
"""The output is the oscillator divided by 2 to that power."""

FILTERS = ((17, 1), (26, 2), (44, 3), (66, 4), (101, 5), (133, 6))
"""Of the phase detector, by its most MHz."""

PLAIN = 0b000001
"""An input whose register is not used."""

DRIVEN, THREE_STATES, BOTH_EDGES = 0b011000, 0b101000, 0b010000
"""Outputs: of a wire, of a wire that may be off, of registers for both edges of a clock."""


class Ice40(Family):
    """Lattice iCE40 UltraPlus."""

    name = "ice40"
    blocks = Blocks(((16, 8), (8, 9), (4, 10), (2, 11)), lut_ram=False)

    def plls(self, source: int, most_hz: int) -> Iterator[Pll]:
        """See `Family`; feedback is from the oscillator."""
        for divider in range(1, MOST_DIVIDER + 1):
            phase = Fraction(source, divider)
            if not PHASE_HZ[0] <= phase <= PHASE_HZ[1]:
                continue
            for factor in range(1, MOST_FACTOR + 1):
                vco = phase * factor
                if not VCO_HZ[0] <= vco <= VCO_HZ[1]:
                    continue
                for output in OUTPUTS:
                    hz = vco / 2**output
                    if OUTPUT_HZ[0] <= hz <= OUTPUT_HZ[1] and int(hz) <= most_hz:
                        settings = {"DIVR": divider - 1, "DIVF": factor - 1, "DIVQ": output}
                        yield Pll(Fraction(source), hz, vco, settings)

    def steps(self, pll: Pll) -> int:
        """See `Family`: the PLL has no second output in use, pins may invert its clock."""
        return 2

    def clock(self, m, pad, pll: Pll, step: int | None = None):
        """See `Family`; the pad is the PLL's own input."""
        made, locked = Signal(name="made"), Signal(name="locked")
        phase = pll.source / (pll.settings["DIVR"] + 1)
        chosen = next(number for most, number in FILTERS if phase <= most * 1_000_000)
        m.submodules.pll = Instance(
            "SB_PLL40_PAD",
            p_FEEDBACK_PATH="SIMPLE",
            p_PLLOUT_SELECT="GENCLK",
            p_DIVR=Const(pll.settings["DIVR"], 4),
            p_DIVF=Const(pll.settings["DIVF"], 7),
            p_DIVQ=Const(pll.settings["DIVQ"], 3),
            p_FILTER_RANGE=Const(chosen, 3),
            i_PACKAGEPIN=pad,
            i_RESETB=Const(1, 1),
            i_BYPASS=Const(0, 1),
            o_PLLOUTGLOBAL=made,
            o_LOCK=locked,
        )
        second = None
        if step is not None:
            second = Signal(name="second")
            m.d.comb += second.eq(~made)
        return made, second, locked

    def input(self, m, pad, signal) -> None:
        """See `Family`."""
        self._pin(m, pad, PLAIN, o_D_IN_0=signal)

    def output(self, m, pad, signal) -> None:
        """See `Family`."""
        self._pin(m, pad, DRIVEN | PLAIN, i_D_OUT_0=signal)

    def bidirectional(self, m, pad, o, oe, i) -> None:
        """See `Family`."""
        self._pin(m, pad, THREE_STATES | PLAIN, i_D_OUT_0=o, i_OUTPUT_ENABLE=oe, o_D_IN_0=i)

    def forwarded(self, m, pad, clock) -> None:
        """See `Family`."""
        self._pin(
            m,
            pad,
            BOTH_EDGES | PLAIN,
            i_OUTPUT_CLK=clock,
            i_D_OUT_0=Const(1, 1),
            i_D_OUT_1=Const(0, 1),
        )

    def _pin(self, m, pad, kind, **wires):
        m.submodules += Instance("SB_IO", p_PIN_TYPE=Const(kind, 6), io_PACKAGE_PIN=pad, **wires)
