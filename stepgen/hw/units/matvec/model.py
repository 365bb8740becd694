"""Cycle model of the product of a row: a beat of w in each step."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.matvec.params import Matvec
from stepgen.ir.wire import BARE, TILE_LEVELS, VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

# `rows`, `beats`: of a tile of w, and of a row of it
# `row`, `beat`: of the step
# `lanes`: rows for a beat of x, or of y; of a turned tile beats for one of y
# `slices`: of y
# `dynamic`: whether stops count the rows of a tile of w
# `sent`: beats of the sums of an empty group
P = record(
    "x",
    "w",
    "y",
    "transposed",
    "turned",
    "folds",
    "lanes",
    "dynamic",
    "rows",
    "beats",
    "slices",
    "row",
    "beat",
    "sent",
)


@helper
def structure(M: Memory, a: int, t: int, beat: int) -> int:
    """Send an empty token or the end, or a beat of the sums of an empty group."""
    x, w, y = M[a + P.x], M[a + P.w], M[a + P.y]
    wait = room(M, y, t)
    if wait != READY:
        return wait
    if kind_of(beat) == BARE and M[a + P.folds]:
        low, stop = low_of(beat), stop_of(beat)
        out = stop - 1 if stop > TILE_LEVELS else stop
        if low == TILE_LEVELS + 1:
            M[a + P.sent] += 1
            ends = M[a + P.sent] == M[a + P.slices]
            push(M, y, t, make_beat(VALUE, out if ends else 0, 0, 0))
            if not ends:
                return acted(M, t)
            M[a + P.sent] = 0
        else:
            push(M, y, t, make_beat(BARE, out, low - 1, 0))
    else:
        push(M, y, t, beat)
    pop(M, x, t)
    pop(M, w, t)
    return acted(M, t)


@step
def multiply(M: Memory, a: int, t: int) -> int:
    x, w, y, lanes = M[a + P.x], M[a + P.w], M[a + P.y], M[a + P.lanes]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    wait = ready(M, w, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    if kind_of(beat) != VALUE:
        return structure(M, a, t, beat)
    row, stop = M[a + P.row], stop_of(beat)
    ends_row, last_row = M[a + P.beat] == M[a + P.beats] - 1, row == M[a + P.rows] - 1
    if M[a + P.dynamic]:
        last_row = (stop_of(head(M, w)) if M[a + P.transposed] else stop) >= TILE_LEVELS
    complete = not M[a + P.folds] or stop > TILE_LEVELS
    ends_lanes = ends_row and (last_row or row % lanes == lanes - 1)
    if M[a + P.transposed]:
        sends, takes = ends_lanes, (row == 0 and not ends_row) or (ends_row and last_row)
    elif M[a + P.turned]:
        whole = ends_row or M[a + P.beat] % lanes == lanes - 1
        sends, takes = last_row and complete and whole, ends_row
    else:
        sends, takes = last_row and complete, ends_lanes
    if sends:
        wait = room(M, y, t)
        if wait != READY:
            return wait
        out = stop - 1 if M[a + P.folds] else stop
        push(M, y, t, make_beat(VALUE, out if ends_row and last_row else 0, 0, 0))
    pop(M, w, t)
    if takes:
        pop(M, x, t)
    M[a + P.beat] = 0 if ends_row else M[a + P.beat] + 1
    if ends_row:
        M[a + P.row] = 0 if last_row else row + 1
    return acted(M, t)


def build(unit: Unit, params: Matvec, layout: DesignLayout) -> None:
    """One actor, which knows the beat of the tile of w."""
    x, w = layout.channel(unit.inputs["x"]), layout.channel(unit.inputs["w"])
    y, lanes = layout.channel(unit.outputs["y"]), layout.design.lanes
    rows, beats = params.beats(lanes)
    own = packed(
        P,
        x=x,
        w=w,
        y=y,
        transposed=params.transposed,
        turned=params.turned,
        folds=params.folds,
        lanes=params.sent(lanes) if params.transposed else params.taken(lanes),
        dynamic=params.dynamic,
        rows=rows,
        beats=beats,
        slices=params.slices(lanes)[1],
        row=0,
        beat=0,
        sent=0,
    )
    layout.actor(unit.name, "multiply", multiply, own, reads=[x, w], writes=[y])
