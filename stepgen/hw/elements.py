"""A reference stream as one beat per element."""

from amaranth.hdl import Mux

from stepgen.hw.fifo import Fifo
from stepgen.ir.wire import BARE, DONE, VALUE

__all__ = ["reduced"]


def reduced(m, ref, base, channel):
    """The heads of a FIFO with one beat for each element of `ref`, at most one per cycle.

    Parameters
    ----------
    m : Module
        Gets the FIFO, and all that is between it and `ref`.
    ref : stream
        Head of the reference's FIFO.
    base : int
        Wire level that closes an element, at least 1. An element without rows is one too.
    channel : Channel
        The FIFO, named as it is in the module, with levels that are lower by `base`.
    """
    m.submodules[channel.name] = elements = Fifo(channel)
    w = elements.w
    low = ref.payload.data[: len(ref.payload.stop)]
    is_tile = (ref.payload.kind == VALUE) | (ref.payload.kind == BARE) & (low <= base)
    inside = (ref.payload.kind == VALUE) & (ref.payload.stop < base)
    m.d.comb += [
        ref.ready.eq(ref.valid & (inside | w.ready)),
        w.valid.eq(ref.valid & ~inside),
        w.payload.kind.eq(Mux(is_tile, VALUE, ref.payload.kind)),
        w.payload.stop.eq(Mux(ref.payload.kind == DONE, 0, ref.payload.stop - base)),
        w.payload.data.eq(Mux(ref.payload.kind == DONE, 0, low - base)),
    ]
    return elements.r
