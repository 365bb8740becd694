"""Gowin GW2A and GW2AR: rPLL, pins.

Limits of the PLL at grade C8/I7: Gowin, GW2AR series of FPGA Products Data Sheet (DS226), section
on PLL switching characteristics; dividers: Gowin Clock User Guide (UG286).
"""

from collections.abc import Iterator
from fractions import Fraction

from amaranth.hdl import Const, Instance, Signal

from stepgen.hw.board.family import Family, Pll
from stepgen.hw.design.block_rams import Blocks

__all__ = ["Gowin"]

PHASE_HZ = (3_000_000, 500_000_000)
VCO_HZ = (500_000_000, 1_250_000_000)
OUTPUT_HZ = (3_906_250, 625_000_000)
MOST = 64
"""Of the dividers of input and feedback."""

PHASES = 16
"""Of the second output, in a period."""

OUTPUTS = (2, 4, 8, 16, 32, 48, 64, 80, 96, 112, 128)
"""Dividers of the output."""


class Gowin(Family):
    """Gowin GW2A and GW2AR."""

    name = "gowin"
    blocks = Blocks(instantiated=True)

    def plls(self, source: int, most_hz: int) -> Iterator[Pll]:
        """See `Family`; feedback is from the output, whose divider lies behind the VCO."""
        if not PHASE_HZ[0] <= source <= PHASE_HZ[1]:
            return
        for divider in range(1, MOST + 1):
            phase = Fraction(source, divider)
            if phase < PHASE_HZ[0]:
                break
            for factor in range(1, MOST + 1):
                hz = phase * factor
                fits = [n for n in OUTPUTS if VCO_HZ[0] <= hz * n <= VCO_HZ[1]]
                if fits and OUTPUT_HZ[0] <= hz <= OUTPUT_HZ[1] and int(hz) <= most_hz:
                    output = max(fits)
                    settings = {"IDIV": divider, "FBDIV": factor, "ODIV": output}
                    yield Pll(Fraction(source), hz, hz * output, settings)

    def steps(self, pll: Pll) -> int:
        """See `Family`."""
        return PHASES

    def clock(self, m, pad, pll: Pll, step: int | None = None):
        """See `Family`; the second clock is on for half of a period, as the first is."""
        taken, made, locked = Signal(name="taken"), Signal(name="made"), Signal(name="locked")
        self.input(m, pad, taken)
        zero = Const(0, 1)
        second, phased = None, {}
        if step is not None:
            second = Signal(name="second")
            phased = {
                "p_PSDA_SEL": f"{step:04b}",
                "p_DUTYDA_SEL": f"{(step + PHASES // 2) % PHASES:04b}",
                "p_DYN_DA_EN": "false",
                "o_CLKOUTP": second,
            }
        m.submodules.pll = Instance(
            "rPLL",
            p_FCLKIN=f"{float(pll.source) / 1e6:g}",
            p_IDIV_SEL=pll.settings["IDIV"] - 1,
            p_FBDIV_SEL=pll.settings["FBDIV"] - 1,
            p_ODIV_SEL=pll.settings["ODIV"],
            p_DYN_IDIV_SEL="false",
            p_DYN_FBDIV_SEL="false",
            p_DYN_ODIV_SEL="false",
            p_CLKFB_SEL="internal",
            p_DEVICE="GW2AR-18C",
            i_CLKIN=taken,
            i_CLKFB=zero,
            i_RESET=zero,
            i_RESET_P=zero,
            **{f"i_{name}": Const(0, 6) for name in ("FBDSEL", "IDSEL", "ODSEL")},
            **{f"i_{name}": Const(0, 4) for name in ("PSDA", "FDLY", "DUTYDA")},
            o_CLKOUT=made,
            o_LOCK=locked,
            **phased,
        )
        return made, second, locked

    def input(self, m, pad, signal) -> None:
        """See `Family`."""
        m.submodules += Instance("IBUF", i_I=pad, o_O=signal)

    def output(self, m, pad, signal) -> None:
        """See `Family`."""
        m.submodules += Instance("OBUF", i_I=signal, o_O=pad)

    def bidirectional(self, m, pad, o, oe, i) -> None:
        """See `Family`."""
        m.submodules += Instance("IOBUF", io_IO=pad, i_I=o, i_OEN=~oe, o_O=i)

    def forwarded(self, m, pad, clock) -> None:
        """See `Family`."""
        edges, zero, one = Signal(), Const(0, 1), Const(1, 1)
        m.submodules += Instance("ODDR", i_CLK=clock, i_D0=one, i_D1=zero, i_TX=zero, o_Q0=edges)
        self.output(m, pad, edges)
