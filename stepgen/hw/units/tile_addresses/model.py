"""Cycle model of tile_addresses: a beat for each address of the element at the head."""

from __future__ import annotations

from ....ir.wire import BARE, VALUE, number_limit
from ....timing.design_layout import DesignLayout
from ....timing.kernel import (
    READY,
    Memory,
    acted,
    aux_of,
    can_pass,
    fault,
    head,
    helper,
    kind_of,
    low_of,
    make_beat,
    packed,
    pop,
    push,
    ready,
    record,
    step,
    stop_of,
)
from ....timing.selector import selected
from ...design.table import Unit
from .params import TileAddresses

P = record("x", "y", "count", "bits", "raised", "limit", "number")


@helper
def chosen(M: Memory, selector: int, bits: int) -> int:
    """Number of the bit that is set; if there is not one, how many there are, less 1 and negated.

    Without bits it is a number itself.
    """
    if bits == 0:
        return aux_of(selector)
    count = last = 0
    for n in range(bits):
        if selected(M, selector, n, bits):
            count, last = count + 1, n
    return last if count == 1 else -1 - count


@step
def go_through(M: Memory, a: int, t: int) -> int:
    x, y, raised, count = M[a + P.x], M[a + P.y], M[a + P.raised], M[a + P.count]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    kind, stop = kind_of(beat), stop_of(beat)
    element = chosen(M, beat, M[a + P.bits]) if kind == VALUE else 0
    if element < 0:
        return fault(M, a, t, -1 - element)
    wait = can_pass(M, x, y, t)
    if wait != READY:
        return wait
    if kind != VALUE:
        pop(M, x, t)
        if kind == BARE:
            beat = make_beat(BARE, stop + raised, low_of(beat) + raised, 0)
        push(M, y, t, beat)
        return acted(M, t)
    number = M[a + P.number]
    last = number + 1 == count
    address = min(element * count + number, M[a + P.limit])
    push(M, y, t, make_beat(VALUE, stop + raised if last else 0, 0, address))
    M[a + P.number] = 0 if last else number + 1
    if last:
        pop(M, x, t)
    return acted(M, t)


def build(unit: Unit, params: TileAddresses, layout: DesignLayout) -> None:
    """One actor, which knows its place; a multiplication is the output channel's delay."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    limit = number_limit(layout.design.channel[unit.outputs["y"]].bits)
    own = packed(
        P,
        x=x,
        y=y,
        count=params.count,
        bits=params.bits,
        raised=params.grouped,
        limit=limit,
        number=0,
    )
    actor = layout.actor(unit.name, "go through", go_through, own, reads=[x], writes=[y])
    layout.tells(
        actor,
        unit,
        lambda count: f"{unit.name} needs selectors with one bit set, not with {count}",
    )
