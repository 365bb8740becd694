"""A registered multiplier."""

from amaranth.hdl import Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...compile import stages
from .delay import delayed

__all__ = ["Multiplier"]


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
    Latency 3, one product per cycle.
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
        a = delayed(m, self.a, 1, reset_less=True)
        b = delayed(m, self.b, 1, reset_less=True)
        product = Signal.like(self.product)
        m.d.comb += product.eq(a * b)
        m.d.comb += self.product.eq(
            delayed(m, product, stages.MULTIPLIER - 1, reset_less=True)
        )
        return m
