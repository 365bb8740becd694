"""Cycle model of place_row: rows pass, but for those taken from the other operand."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.place_row.params import PlaceRow
from stepgen.ir.wire import BARE, TILE_LEVELS, VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

# `number` is that of the row at the head, `over` whether all rows of the tile are placed
P = record("x", "row", "at", "y", "number", "over")


@step
def place(M: Memory, a: int, t: int) -> int:
    x, row, at = M[a + P.x], M[a + P.row], M[a + P.at]
    wait = ready(M, at, t)
    if wait != READY:
        return wait
    wait = can_pass(M, x, M[a + P.y], t)
    if wait != READY:
        return wait
    beat = head(M, x)
    kind, stop, number = kind_of(beat), stop_of(beat), M[a + P.number]
    place = aux_of(head(M, at))
    here = kind != VALUE or (place <= number and not M[a + P.over])
    over = M[a + P.over] == 1
    if here:
        wait = ready(M, row, t)
        if wait != READY:
            return wait
        over = stop_of(head(M, row)) >= TILE_LEVELS
    ends = kind != VALUE or stop >= TILE_LEVELS
    if kind == BARE and low_of(beat) <= TILE_LEVELS:
        return fault(M, a, t, place)
    if kind == VALUE and ends and not over:
        return fault(M, a, t, max(place, number + 1))
    if here:
        pop(M, row, t)
    if ends:
        pop(M, at, t)
    push(M, M[a + P.y], t, pop(M, x, t))
    M[a + P.number] = 0 if ends else number + (stop > 0)
    M[a + P.over] = 0 if ends else over
    return acted(M, t)


def build(unit: Unit, params: PlaceRow, layout: DesignLayout) -> None:
    """One actor, which knows the number of the row at the head."""
    x, row, at = (layout.channel(name) for name in unit.inputs.values())
    y = layout.channel(unit.outputs["y"])
    own = packed(P, x=x, row=row, at=at, y=y, number=0, over=0)
    actor = layout.actor(unit.name, "place", place, own, reads=[x, row, at], writes=[y])
    layout.reports(
        actor,
        unit,
        lambda number: f"{unit.name} is to replace row {number} of a tile with fewer rows",
    )
