"""A registered multiplier."""

from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, Shape, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.design import stages
from stepgen.hw.design.stages import MULTIPLIER_BITS
from stepgen.hw.primitives.delay import delayed
from stepgen.hw.primitives.device import is_ecp5, is_gowin, is_ice40, is_xilinx

__all__ = ["Multiplier"]

AS_BLOCK = {"use_dsp": "yes", "multstyle": "dsp"}
"""Attributes of a product by which tools of AMD and Intel make it in a block."""

GOWIN_BITS = 9
"""Of the factors of the smaller of two blocks."""

ICE40_BITS = 16
"""Of the factors of SB_MAC16."""

XILINX_BITS = 25, 18
"""Of the factors of DSP48E1, which have signs."""


class Multiplier(wiring.Component):
    """``product`` is ``a * b`` of three cycles ago.

    Parameters
    ----------
    a_bits, b_bits : int
        Widths of the factors.
    a_signed, b_signed : bool
        Whether a factor has a sign.

    Members
    -------
    a, b : ``In``
    product : ``Out``, signed where a factor is

    Notes
    -----
    Latency 3, one product per cycle. For factors of up to 18 bits one block with all its registers,
    which no tool packs by itself: MULT18X18D of ECP5, MULT9X9 or MULT18X18 of Gowin, SB_MAC16 of
    iCE40 UltraPlus for those of up to 16 bits, DSP48E1 of Xilinx but for two of 18 bits without a
    sign; elsewhere what the tool makes of ``a * b``, with attributes that ask for a block.
    """

    def __init__(self, a_bits: int, b_bits: int, *, a_signed: bool = True, b_signed: bool = True):
        super().__init__(
            {
                "a": In(Shape(a_bits, a_signed)),
                "b": In(Shape(b_bits, b_signed)),
                "product": Out(Shape(a_bits + b_bits, a_signed or b_signed)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        if is_ecp5(platform) and max(len(self.a), len(self.b)) <= MULTIPLIER_BITS:
            m.submodules.dsp = self._ecp5()
            return m
        if is_gowin(platform) and max(len(self.a), len(self.b)) <= MULTIPLIER_BITS:
            m.submodules.dsp = self._gowin()
            return m
        if is_ice40(platform) and max(len(self.a), len(self.b)) <= ICE40_BITS:
            m.submodules.dsp = self._ice40()
            return m
        if is_xilinx(platform) and (factors := self._with_signs()):
            m.submodules.dsp = self._xilinx(*factors)
            return m
        a = delayed(m, self.a, 1, reset_less=True)
        b = delayed(m, self.b, 1, reset_less=True)
        product = Signal.like(self.product, attrs=AS_BLOCK)
        m.d.comb += product.eq(a * b)
        m.d.comb += self.product.eq(delayed(m, product, stages.MULTIPLIER - 1, reset_less=True))
        return m

    def _ecp5(self):
        zero, one = Const(0, 1), Const(1, 1)
        registers = {
            f"p_REG_{name}_{what}": value
            for name in ("INPUTA", "INPUTB", "PIPELINE", "OUTPUT")
            for what, value in (("CLK", "CLK0"), ("CE", "CE0"), ("RST", "RST0"))
        }
        a, b = (_extended(x, MULTIPLIER_BITS) for x in (self.a, self.b))
        unused = Signal(2 * MULTIPLIER_BITS - len(self.product))
        product = Cat(self.product, unused)
        return Instance(
            "MULT18X18D",
            **registers,
            p_SOURCEB_MODE="B_SHIFT",
            p_RESETMODE="SYNC",
            p_GSR="DISABLED",
            i_CLK0=ClockSignal(),
            i_CE0=one,
            i_RST0=zero,
            i_SIGNEDA=Const(self.a.shape().signed, 1),
            i_SIGNEDB=Const(self.b.shape().signed, 1),
            i_SOURCEA=zero,
            i_SOURCEB=zero,
            **{f"i_A{k}": bit for k, bit in enumerate(a)},
            **{f"i_B{k}": bit for k, bit in enumerate(b)},
            **{f"i_C{k}": zero for k in range(MULTIPLIER_BITS)},
            **{f"o_P{k}": bit for k, bit in enumerate(product)},
        )

    def _gowin(self):
        bits = GOWIN_BITS if max(len(self.a), len(self.b)) <= GOWIN_BITS else MULTIPLIER_BITS
        zero, one = Const(0, 1), Const(1, 1)
        unused = Signal(2 * bits - len(self.product))
        registers = ("AREG", "BREG", "ASIGN_REG", "BSIGN_REG", "PIPE_REG", "OUT_REG")
        return Instance(
            f"MULT{bits}X{bits}",
            **{f"p_{name}": one for name in registers},
            p_MULT_RESET_MODE="SYNC",
            i_CLK=ClockSignal(),
            i_CE=one,
            i_RESET=zero,
            i_A=_extended(self.a, bits),
            i_B=_extended(self.b, bits),
            i_SIA=Const(0, bits),
            i_SIB=Const(0, bits),
            i_ASIGN=Const(self.a.shape().signed, 1),
            i_BSIGN=Const(self.b.shape().signed, 1),
            i_ASEL=zero,
            i_BSEL=zero,
            o_DOUT=Cat(self.product, unused),
        )

    def _ice40(self):
        """Registers: factors, partial products, their sum."""
        zero, one, none = Const(0, 1), Const(1, 1), Const(0, ICE40_BITS)
        unused = Signal(2 * ICE40_BITS - len(self.product))
        registers = ("A_REG", "B_REG", "TOP_8x8_MULT_REG", "BOT_8x8_MULT_REG")
        registers += ("PIPELINE_16x16_MULT_REG1", "PIPELINE_16x16_MULT_REG2")
        idle = ("AHOLD", "BHOLD", "CHOLD", "DHOLD", "IRSTTOP", "IRSTBOT", "ORSTTOP", "ORSTBOT")
        idle += ("OLOADTOP", "OLOADBOT", "ADDSUBTOP", "ADDSUBBOT", "OHOLDTOP", "OHOLDBOT")
        return Instance(
            "SB_MAC16",
            **{f"p_{name}": one for name in registers},
            p_TOPOUTPUT_SELECT=Const(3, 2),
            p_BOTOUTPUT_SELECT=Const(3, 2),
            p_A_SIGNED=Const(self.a.shape().signed, 1),
            p_B_SIGNED=Const(self.b.shape().signed, 1),
            **{f"i_{name}": zero for name in (*idle, "CI", "ACCUMCI", "SIGNEXTIN")},
            i_CLK=ClockSignal(),
            i_CE=one,
            i_A=_extended(self.a, ICE40_BITS),
            i_B=_extended(self.b, ICE40_BITS),
            i_C=none,
            i_D=none,
            o_O=Cat(self.product, unused),
        )

    def _with_signs(self):
        """The factors with signs, the wider one first; nothing where they are too wide."""
        signed = (Cat(x, Const(0, int(not x.shape().signed))).as_signed() for x in (self.a, self.b))
        factors = sorted(signed, key=len, reverse=True)
        fits = all(len(x) <= bits for x, bits in zip(factors, XILINX_BITS, strict=True))
        return factors if fits else ()

    def _xilinx(self, wide, narrow):
        zero, one = Const(0, 1), Const(1, 1)
        unused = Signal(48 - len(self.product))
        used, idle = ("A", "B", "M", "P"), ("C", "D", "AD", "INMODE", "OPMODE", "ALUMODE")
        clocked = {"CEA2": one, "CEB2": one, "CEM": one, "CEP": one}
        stopped = ("A1", "B1", "C", "D", "AD", "CTRL", "INMODE", "ALUMODE", "CARRYIN")
        resets = ("A", "B", "C", "D", "M", "P", "CTRL", "INMODE", "ALUMODE", "ALLCARRYIN")
        return Instance(
            "DSP48E1",
            **{f"p_{name}REG": 1 for name in (*used, "ACASC", "BCASC")},
            **{f"p_{name}REG": 0 for name in (*idle, "CARRYIN", "CARRYINSEL")},
            p_USE_MULT="MULTIPLY",
            p_USE_DPORT="FALSE",
            i_CLK=ClockSignal(),
            **{f"i_{name}": value for name, value in clocked.items()},
            **{f"i_CE{name}": zero for name in stopped},
            **{f"i_RST{name}": zero for name in resets},
            **{f"i_{name}": zero for name in ("CARRYIN", "CARRYCASCIN", "MULTSIGNIN")},
            i_A=_extended(wide, 30),
            i_B=_extended(narrow, 18),
            i_C=Const(0, 48),
            i_D=Const(0, 25),
            i_ACIN=Const(0, 30),
            i_BCIN=Const(0, 18),
            i_PCIN=Const(0, 48),
            i_OPMODE=Const(0b0000101, 7),  # the product alone
            i_ALUMODE=Const(0, 4),
            i_INMODE=Const(0, 5),
            i_CARRYINSEL=Const(0, 3),
            o_P=Cat(self.product, unused),
        )


def _extended(factor, bits):
    """A factor with more bits of the same value."""
    return Cat(factor, (factor[-1] & factor.shape().signed).replicate(bits - len(factor)))
