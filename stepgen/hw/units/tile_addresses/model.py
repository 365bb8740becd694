"""Cycle model of tile_addresses: a beat for each address of the element at the head."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.tile_addresses.params import TileAddresses
from stepgen.ir.dtypes import bits_set
from stepgen.ir.wire import BARE, VALUE, number_limit
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *
from stepgen.timing.selector import selected

P = record("x", "y", "count", "bits", "hot", "raised", "limit", "number")


@helper
def chosen(M: Memory, selector: int, bits: int, hot: int, place: int) -> int:
    """Number of a bit that is set, by its place among them, the lowest first.

    If not `hot` of them are set, how many are, less 1 and negated; without bits the number itself.
    """
    if bits == 0:
        return aux_of(selector)
    count = found = 0
    for n in range(bits):
        if selected(M, selector, n, bits):
            if count == place:
                found = n
            count += 1
    return found if count == hot else -1 - count


@step
def go_through(M: Memory, a: int, t: int) -> int:
    x, y, raised, count = M[a + P.x], M[a + P.y], M[a + P.raised], M[a + P.count]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    kind, stop = kind_of(beat), stop_of(beat)
    number, hot = M[a + P.number], M[a + P.hot]
    element = chosen(M, beat, M[a + P.bits], hot, number // count) if kind == VALUE else 0
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
    last = number + 1 == hot * count
    address = min(element * count + number % count, M[a + P.limit])
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
        hot=params.hot,
        raised=params.grouped,
        limit=limit,
        number=0,
    )
    actor = layout.actor(unit.name, "go through", go_through, own, reads=[x], writes=[y])
    layout.reports(
        actor,
        unit,
        lambda count: (
            f"{unit.name} needs selectors with {bits_set(params.hot)} set, not with {count}"
        ),
    )
