"""The actor that makes addresses starts of tiles, common to loads and stores."""

from __future__ import annotations

from stepgen.hw.design.by_address import ByAddress
from stepgen.hw.design.registers import OUT_OF_RANGE
from stepgen.hw.design.table import Unit
from stepgen.ir.wire import VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("ref", "starts", "closes", "tiles", "start", "stride", "word")


@step
def look_up(M: Memory, a: int, t: int) -> int:
    wait = ready(M, M[a + P.ref], t)
    if wait != READY:
        return wait
    beat = head(M, M[a + P.ref])
    kind, number = kind_of(beat), aux_of(beat)
    if kind == VALUE and number >= M[a + P.tiles]:
        return fault(M, a, t, number)
    if kind == VALUE:
        wait = room(M, M[a + P.starts], t)
        if wait != READY:
            return wait
    wait = room(M, M[a + P.closes], t)
    if wait != READY:
        return wait
    pop(M, M[a + P.ref], t)
    place = 0
    if kind == VALUE:
        start = M[a + P.start] + number * M[a + P.stride]
        push(M, M[a + P.starts], t, start)
        place = start % M[a + P.word]
    push(M, M[a + P.closes], t, make_beat(kind, stop_of(beat), low_of(beat), place))
    return acted(M, t)


def build_look_up(unit: Unit, by: ByAddress, layout: DesignLayout, ref: int, closes: int) -> int:
    """Add the actor.

    Parameters
    ----------
    unit : Unit
    by : ByAddress
    layout : DesignLayout
    ref, closes : int
        Channels of the addresses, and of their stops.

    Returns
    -------
    int
        Channel of the starts, in bytes from the boundary.
    """
    starts = layout.internal(f"{unit.name}.starts", by.starts.depth, by.starts.latency)
    own = packed(
        P,
        ref=ref,
        starts=starts,
        closes=closes,
        tiles=by.tiles,
        start=by.before,
        stride=by.tile_bytes,
        word=by.word,
    )
    actor = layout.actor(unit.name, "look up", look_up, own, reads=[ref], writes=[starts, closes])
    layout.reports(actor, unit, cause=OUT_OF_RANGE)
    return starts
