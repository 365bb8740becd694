"""Makes flags, or addresses, of tiles of one flag or integer."""

from amaranth.hdl import Const, Module, Mux, Signal

from stepgen.hw.unit import UnitCore
from stepgen.ir.dtypes import ELEMENTS
from stepgen.ir.wire import BARE, DONE, TILE_LEVELS, VALUE


class AsScalarCore(UnitCore):
    """Map of convert to addresses; flags behind any unit that makes tiles of one flag.

    Parameters
    ----------
    unit.params : AsScalar

    Notes
    -----
    One beat per cycle. Latency 0 in addition to the FIFOs'. A tile without a row, or of several
    beats, raises ``error``; so does an integer below 0, which stays where it is. A number that does
    not fit on the wires is all ones.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        x, y = self.x, self.y
        kind, stop = x.payload.kind, x.payload.stop
        low, fire, below = x.payload.data[: len(stop)], Signal(), Signal()
        number, is_below = self._number(x.payload.data, self.channels["y"].bits)
        m.d.comb += [
            below.eq((kind == VALUE) & is_below),
            fire.eq(x.valid & y.ready & ~below),
            x.ready.eq(fire),
            y.valid.eq(fire),
            y.payload.kind.eq(kind),
            y.payload.stop.eq(Mux(kind == DONE, 0, stop - TILE_LEVELS)[: len(y.payload.stop)]),
        ]
        with m.If(kind == VALUE):
            m.d.comb += y.payload.data.eq(number)
        with m.Elif(kind == BARE):
            m.d.comb += y.payload.data.eq(low - TILE_LEVELS)
        several = (kind == VALUE) & (stop < TILE_LEVELS)
        strange = fire & (several | (kind == BARE) & (low <= TILE_LEVELS))
        m.d.sync += self.error.eq(strange | (x.valid & below))
        return m

    def _number(self, data, wire):
        """The flag or number of a tile, and whether it is below 0."""
        if self.params.of_flags:
            return data[0], Const(0, 1)
        bits = ELEMENTS[self.params.operand].bits
        number = data[: bits - 1]
        return number[:wire] | number[wire:].any().replicate(min(wire, bits - 1)), data[bits - 1]
