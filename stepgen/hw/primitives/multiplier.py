"""A registered multiplier."""

from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..design import stages
from .delay import delayed
from .device import is_ecp5

__all__ = ["Multiplier"]

ECP5_BITS = 18


class Multiplier(wiring.Component):
    """``product`` is ``a * b`` of three cycles ago.

    Parameters
    ----------
    a_bits, b_bits : int
        Widths of the signed factors.

    Members
    -------
    a, b : ``In(signed)``
    product : ``Out(signed)``

    Notes
    -----
    Latency 3, one product per cycle. ECP5: one MULT18X18D with all its registers for factors of up
    to 18 bits, which no tool packs by itself; elsewhere what the tool makes of ``a * b``.
    """

    def __init__(self, a_bits: int, b_bits: int):
        super().__init__(
            {
                "a": In(signed(a_bits)),
                "b": In(signed(b_bits)),
                "product": Out(signed(a_bits + b_bits)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        if is_ecp5(platform) and max(len(self.a), len(self.b)) <= ECP5_BITS:
            m.submodules.dsp = self._ecp5()
            return m
        a = delayed(m, self.a, 1, reset_less=True)
        b = delayed(m, self.b, 1, reset_less=True)
        product = Signal.like(self.product)
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
        a = Cat(self.a, self.a[-1].replicate(ECP5_BITS - len(self.a)))
        b = Cat(self.b, self.b[-1].replicate(ECP5_BITS - len(self.b)))
        unused = Signal(2 * ECP5_BITS - len(self.product))
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
            i_SIGNEDA=one,
            i_SIGNEDB=one,
            i_SOURCEA=zero,
            i_SOURCEB=zero,
            **{f"i_A{k}": bit for k, bit in enumerate(a)},
            **{f"i_B{k}": bit for k, bit in enumerate(b)},
            **{f"i_C{k}": zero for k in range(ECP5_BITS)},
            **{f"o_P{k}": bit for k, bit in enumerate(product)},
        )
