"""What families of AMD have in common on a board: an MMCM, global clock lines, pins."""

from collections.abc import Iterator
from fractions import Fraction
from math import gcd

from amaranth.hdl import Const, Instance, Signal

from stepgen.hw.board.family import Family, Pll
from stepgen.hw.design.block_rams import Blocks

__all__ = ["MmcmFamily"]

LEAST_FACTOR = 2
MOST_DIVIDER, MOST_OUTPUT = 106, 128
"""Of the divider of the input, and of the one of the output."""


class MmcmFamily(Family):
    """A family with an MMCM; its dividers are whole numbers here.

    Attributes
    ----------
    block, double : str
        Names of the blocks: the MMCM, and a register of both edges.
    most_factor : int
        Of the feedback's divider.
    input_hz, phase_hz, vco_hz, output_hz : (int, int)
        Limits at the slowest grade: of the input, of the phase detector, of the oscillator, of the
        output and the global line that it drives.
    """

    blocks = Blocks(halves=2)

    block: str
    double: str
    most_factor: int
    input_hz: tuple[int, int]
    phase_hz: tuple[int, int]
    vco_hz: tuple[int, int]
    output_hz: tuple[int, int]

    def plls(self, source: int, most_hz: int) -> Iterator[Pll]:
        """See `Family`; a factor and a divider that could both be smaller are left out, and
        all clocks of an oscillator but the fastest.
        """
        low, high = self.input_hz
        if not low <= source <= high:
            return
        for divider in range(1, MOST_DIVIDER + 1):
            phase = Fraction(source, divider)
            if not self.phase_hz[0] <= phase <= self.phase_hz[1]:
                continue
            least = max(LEAST_FACTOR, -(-self.vco_hz[0] // phase))
            last = min(self.most_factor, self.vco_hz[1] // phase)
            for factor in range(least, last + 1):
                if gcd(divider, factor) > 1:
                    continue
                vco = phase * factor
                # In whole Hz the clock may be as fast as asked for: less than one more.
                output = max(vco // (most_hz + 1) + 1, -(-vco // self.output_hz[1]))
                hz = vco / output
                if output <= MOST_OUTPUT and self.output_hz[0] <= hz:
                    settings = {"DIVCLK": divider, "CLKFBOUT": factor, "CLKOUT0": output}
                    yield Pll(Fraction(source), hz, vco, settings)

    def steps(self, pll: Pll) -> int:
        """See `Family`: eighths of a period of the VCO."""
        return 8 * pll.settings["CLKOUT0"]

    def clock(self, m, pad, pll: Pll, step: int | None = None):
        """See `Family`: a pad of two wires is a differential one, its positive wire first."""
        taken, fed, back, made, spread, locked = (
            Signal(name=name) for name in ("taken", "fed", "back", "made", "spread", "locked")
        )
        if len(pad) == 2:
            m.submodules += Instance("IBUFDS", i_I=pad[0], i_IB=pad[1], o_O=taken)
        else:
            self.input(m, pad, taken)
        zero = Const(0, 1)
        second, phased = None, {}
        if step is not None:
            shifted, second = Signal(name="shifted"), Signal(name="second")
            phased = {
                "p_CLKOUT1_DIVIDE": pll.settings["CLKOUT0"],
                "p_CLKOUT1_PHASE": 360.0 * step / self.steps(pll),
                "o_CLKOUT1": shifted,
            }
            m.submodules.second_line = Instance("BUFG", i_I=shifted, o_O=second)
        m.submodules.pll = Instance(
            self.block,
            p_BANDWIDTH="OPTIMIZED",
            p_CLKIN1_PERIOD=float(10**9 / pll.source),
            p_DIVCLK_DIVIDE=pll.settings["DIVCLK"],
            p_CLKFBOUT_MULT_F=float(pll.settings["CLKFBOUT"]),
            p_CLKOUT0_DIVIDE_F=float(pll.settings["CLKOUT0"]),
            i_CLKIN1=taken,
            i_CLKFBIN=back,
            i_PWRDWN=zero,
            i_RST=zero,
            o_CLKFBOUT=fed,
            o_CLKOUT0=made,
            o_LOCKED=locked,
            **phased,
        )
        m.submodules.feedback = Instance("BUFG", i_I=fed, o_O=back)
        m.submodules.global_line = Instance("BUFG", i_I=made, o_O=spread)
        return spread, second, locked

    def input(self, m, pad, signal) -> None:
        """See `Family`."""
        m.submodules += Instance("IBUF", i_I=pad, o_O=signal)

    def output(self, m, pad, signal) -> None:
        """See `Family`."""
        m.submodules += Instance("OBUF", i_I=signal, o_O=pad)

    def bidirectional(self, m, pad, o, oe, i) -> None:
        """See `Family`."""
        m.submodules += Instance("IOBUF", io_IO=pad, i_I=o, i_T=~oe, o_O=i)

    def forwarded(self, m, pad, clock) -> None:
        """See `Family`."""
        edges, zero, one = Signal(), Const(0, 1), Const(1, 1)
        more = (
            {"i_SR": zero} if self.double == "ODDRE1" else {"i_CE": one, "i_R": zero, "i_S": zero}
        )
        m.submodules += Instance(self.double, i_C=clock, i_D1=one, i_D2=zero, o_Q=edges, **more)
        self.output(m, pad, edges)
