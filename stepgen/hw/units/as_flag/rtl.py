"""Makes flags of tiles of one flag."""

from amaranth.hdl import Module, Mux, Signal

from ....ir.wire import BARE, DONE, TILE_LEVELS, VALUE
from ...unit import UnitCore


class AsFlagCore(UnitCore):
    """Drops the dims of tiles of one flag, behind any unit that makes such tiles.

    Parameters
    ----------
    unit.params : AsFlag

    Notes
    -----
    One beat per cycle. Latency 0 in addition to the FIFOs'. A tile without a row, or of several
    beats, raises ``error``.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        x, y = self.x, self.y
        kind, stop = x.payload.kind, x.payload.stop
        low, fire = x.payload.data[: len(stop)], Signal()
        m.d.comb += [
            fire.eq(x.valid & y.ready),
            x.ready.eq(fire),
            y.valid.eq(fire),
            y.payload.kind.eq(kind),
            y.payload.stop.eq(Mux(kind == DONE, 0, stop - TILE_LEVELS)[: len(y.payload.stop)]),
        ]
        with m.If(kind == VALUE):
            m.d.comb += y.payload.data.eq(x.payload.data[0])
        with m.Elif(kind == BARE):
            m.d.comb += y.payload.data.eq(low - TILE_LEVELS)
        several = (kind == VALUE) & (stop < TILE_LEVELS)
        m.d.sync += self.error.eq(fire & (several | (kind == BARE) & (low <= TILE_LEVELS)))
        return m
