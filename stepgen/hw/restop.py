"""The circuit that rewrites stop levels between a unit and the FIFO behind it."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.stream import payload_shape
from stepgen.ir.wire import BARE, DONE

__all__ = ["RestopCore"]


class RestopCore(wiring.Component):
    """Rewrites the levels of payloads that leave a unit, by combinational logic.

    Parameters
    ----------
    levels : Levels
        What becomes of each level.
    before, after : Channel
        The output as the unit sees it, and the channel.

    Members
    -------
    x : ``In``
        A payload.
    y : ``Out``
        What becomes of it.
    """

    def __init__(self, levels, before, after):
        self.levels = levels
        super().__init__({"x": In(payload_shape(before)), "y": Out(payload_shape(after))})

    def elaborate(self, platform):
        m = Module()
        x, y = self.x, self.y
        bits = len(x.stop)
        # A stop level beyond the rank never comes, so nothing is spent on it.
        stops, empty = (
            Array([*levels, *[levels[-1]] * ((1 << bits) - len(levels))])
            for levels in (self.levels.stops, self.levels.empty)
        )
        few = min(max(bits, len(y.stop)), len(y.data))
        low = Signal(range(max(self.levels.empty) + 1))
        m.d.comb += low.eq(empty[x.data[:bits]])
        m.d.comb += [
            y.kind.eq(x.kind),
            y.stop.eq(Mux(x.kind == DONE, 0, stops[x.stop])),
            y.data.eq(Cat(Mux(x.kind == BARE, low, x.data[:few]), x.data[few:])),
        ]
        return m
