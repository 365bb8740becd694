"""Lattice ECP5: EHXPLLL, pins.

Limits of the PLL: Lattice, ECP5 and ECP5-5G Family Data Sheet (FPGA-DS-02012), section on sysCLOCK
PLL timing.
"""

from collections.abc import Iterator
from fractions import Fraction

from amaranth.hdl import Const, Instance, Signal

from stepgen.hw.board.family import Family, Pll
from stepgen.hw.design.block_rams import Blocks

__all__ = ["INPUT_HZ", "MOST", "OUTPUT_HZ", "PHASE_HZ", "VCO_HZ", "Ecp5"]

INPUT_HZ = (8_000_000, 400_000_000)
OUTPUT_HZ = (3_125_000, 400_000_000)
PHASE_HZ = (3_125_000, 400_000_000)
"""Of the phase detector: the input behind its divider."""

VCO_HZ = (400_000_000, 800_000_000)
MOST = 128
"""Of each divider."""


class Ecp5(Family):
    """Lattice ECP5."""

    name = "ecp5"
    blocks = Blocks(constants=True, instantiated=True)

    def plls(self, source: int, most_hz: int) -> Iterator[Pll]:
        """See `Family`; feedback is from the output, whose divider lies behind the VCO."""
        if not _within(source, INPUT_HZ):
            return
        for divider in range(1, MOST + 1):
            phase = Fraction(source, divider)
            if not _within(phase, PHASE_HZ):
                continue
            for factor in range(1, MOST + 1):
                hz = phase * factor
                if not _within(hz, OUTPUT_HZ) or int(hz) > most_hz:
                    continue
                output = min(MOST, int(VCO_HZ[1] / hz))
                if _within(hz * output, VCO_HZ):
                    settings = {"CLKI_DIV": divider, "CLKFB_DIV": factor, "CLKOP_DIV": output}
                    yield Pll(Fraction(source), hz, hz * output, settings)

    def steps(self, pll: Pll) -> int:
        """See `Family`: periods of the VCO."""
        return pll.settings["CLKOP_DIV"]

    def clock(self, m, pad, pll: Pll, step: int | None = None):
        """See `Family`."""
        taken, made, locked = Signal(), Signal(), Signal()
        self.input(m, pad, taken)
        second, phased = None, {}
        if step is not None:
            second, output = Signal(), pll.settings["CLKOP_DIV"]
            phased = {
                "a_FREQUENCY_PIN_CLKOS": f"{float(pll.hz) / 1e6:.6f}",
                "p_CLKOS_ENABLE": "ENABLED",
                "p_CLKOS_DIV": output,
                "p_CLKOS_CPHASE": output - 1 + step,
                "p_CLKOS_FPHASE": 0,
                "i_ENCLKOS": Const(0, 1),
                "o_CLKOS": second,
            }
        m.submodules.pll = Instance(
            "EHXPLLL",
            a_FREQUENCY_PIN_CLKI=f"{float(pll.source) / 1e6:.6f}",
            a_FREQUENCY_PIN_CLKOP=f"{float(pll.hz) / 1e6:.6f}",
            a_ICP_CURRENT="12",
            a_LPF_RESISTOR="8",
            a_MFG_ENABLE_FILTEROPAMP="1",
            a_MFG_GMCREF_SEL="2",
            p_PLLRST_ENA="DISABLED",
            p_INTFB_WAKE="DISABLED",
            p_STDBY_ENABLE="DISABLED",
            p_DPHASE_SOURCE="DISABLED",
            p_OUTDIVIDER_MUXA="DIVA",
            p_OUTDIVIDER_MUXB="DIVB",
            p_OUTDIVIDER_MUXC="DIVC",
            p_OUTDIVIDER_MUXD="DIVD",
            p_CLKOP_ENABLE="ENABLED",
            p_CLKOP_CPHASE=pll.settings["CLKOP_DIV"] - 1,
            p_CLKOP_FPHASE=0,
            p_FEEDBK_PATH="CLKOP",
            **{f"p_{name}": number for name, number in pll.settings.items()},
            i_RST=Const(0, 1),
            i_STDBY=Const(0, 1),
            i_CLKI=taken,
            i_CLKFB=made,
            i_PHASESEL0=Const(0, 1),
            i_PHASESEL1=Const(0, 1),
            i_PHASEDIR=Const(1, 1),
            i_PHASESTEP=Const(1, 1),
            i_PHASELOADREG=Const(1, 1),
            i_PLLWAKESYNC=Const(0, 1),
            i_ENCLKOP=Const(0, 1),
            o_CLKOP=made,
            o_LOCK=locked,
            **phased,
        )
        return made, second, locked

    def input(self, m, pad, signal) -> None:
        """See `Family`."""
        m.submodules += Instance("IB", i_I=pad, o_O=signal)

    def output(self, m, pad, signal) -> None:
        """See `Family`."""
        m.submodules += Instance("OB", i_I=signal, o_O=pad)

    def bidirectional(self, m, pad, o, oe, i) -> None:
        """See `Family`."""
        m.submodules += Instance("BB", io_B=pad, i_I=o, i_T=~oe, o_O=i)

    def forwarded(self, m, pad, clock) -> None:
        """See `Family`."""
        edges = Signal()
        m.submodules += Instance(
            "ODDRX1F",
            i_SCLK=clock,
            i_RST=Const(0, 1),
            i_D0=Const(1, 1),
            i_D1=Const(0, 1),
            o_Q=edges,
        )
        self.output(m, pad, edges)


def _within(hz, limits) -> bool:
    return bool(limits[0] <= hz <= limits[1])
