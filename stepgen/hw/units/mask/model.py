"""Cycle model of mask: a beat for a beat; numbers stay for a tile."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.mask.params import Mask
from stepgen.ir.wire import TILE_LEVELS, VALUE, number_limit
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("y", "limit", "operands", "x")
# From `x` on lie the channels of the tiles and of the numbers. A position must lie below `limit`.


@step
def mask(M: Memory, a: int, t: int) -> int:
    x, count = M[a + P.x], M[a + P.operands]
    wait = all_ready(M, a + P.x, count, t)
    if wait != READY:
        return wait
    wait = room(M, M[a + P.y], t)
    if wait != READY:
        return wait
    beat = head(M, x)
    ends = kind_of(beat) != VALUE or stop_of(beat) >= TILE_LEVELS
    for n in range(1, count):
        position = head(M, M[a + P.x + n])
        if M[a + P.limit] and kind_of(position) == VALUE and aux_of(position) >= M[a + P.limit]:
            return fault(M, a, t, aux_of(position))
    if ends:
        for n in range(1, count):
            pop(M, M[a + P.x + n], t)
    push(M, M[a + P.y], t, pop(M, x, t))
    return acted(M, t)


def build(unit: Unit, params: Mask, layout: DesignLayout) -> None:
    """One actor; the pipeline is the output channel's delay."""
    x = [layout.channel(name) for name in unit.inputs.values()]
    y = layout.channel(unit.outputs["y"])
    bits = layout.design.channel[unit.inputs[params.inputs[1]]].bits
    limit = number_limit(bits) if params.positions else 0
    own = packed(P, y=y, limit=limit, operands=len(x), x=x)
    actor = layout.actor(unit.name, "mask", mask, own, reads=x, writes=[y])
    layout.reports(
        actor,
        unit,
        lambda number: f"{unit.name} gets the position {number}, and takes positions below {limit}",
    )
