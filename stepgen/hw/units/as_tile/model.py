"""Cycle model of as_tile: a beat for each slice of the row at the head."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.as_tile.params import AsTile
from stepgen.ir.wire import BARE, TILE_LEVELS, VALUE, number_limit
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("x", "y", "limit", "columns", "slices", "slice")


@step
def convert(M: Memory, a: int, t: int) -> int:
    x, y, columns = M[a + P.x], M[a + P.y], M[a + P.columns]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    kind, stop = kind_of(beat), stop_of(beat)
    if kind == VALUE:
        for n in range(columns):
            number = aux_of(beat) if columns == 1 else M[aux_of(beat) + n]
            if number >= M[a + P.limit]:
                return fault(M, a, t, number)
    wait = can_pass(M, x, y, t)
    if wait != READY:
        return wait
    if kind == BARE:
        beat = make_beat(BARE, stop + TILE_LEVELS, low_of(beat) + TILE_LEVELS, 0)
    last = True
    if kind == VALUE:
        last = M[a + P.slice] + 1 == M[a + P.slices]
        beat = make_beat(VALUE, stop + TILE_LEVELS if last else 0, 0, 0)
        M[a + P.slice] = 0 if last else M[a + P.slice] + 1
    push(M, y, t, beat)
    if last:
        pop(M, x, t)
    return acted(M, t)


def build(unit: Unit, params: AsTile, layout: DesignLayout) -> None:
    """One actor; the pipeline is the output channel's delay."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    limit = 2
    if params.of_addresses:
        limit = number_limit(layout.design.channel[unit.inputs["x"]].bits)
    own = packed(
        P,
        x=x,
        y=y,
        limit=limit,
        columns=params.columns,
        slices=params.slices(layout.design.lanes),
        slice=0,
    )
    actor = layout.actor(unit.name, "convert", convert, own, reads=[x], writes=[y])
    layout.reports(
        actor,
        unit,
        lambda number: f"{unit.name} gets the number {number}, and takes numbers below {limit}",
    )
