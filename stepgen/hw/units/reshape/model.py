"""Cycle model of reshape: counts elements, and pads short groups beat by beat."""

from __future__ import annotations

from stepgen.hw.design.table import Channel, Unit
from stepgen.hw.units.reshape.params import Reshape
from stepgen.ir.wire import BARE, DONE, VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record(
    "x",
    "y",
    "padding",
    "level",
    "chunk",
    "rows",
    "slices",
    "pad",
    "prompt",
    "count",
    "short_stop",
    "row",
    "piece",
    "inside",
)
# `short_stop` is the stop of the chunk that is being padded.
NONE = 0


@helper
def flag_sent(M: Memory, a: int, closes: bool) -> bool:
    """Whether the flag of an element is sent with this beat, which `closes` the element or not."""
    if M[a + P.padding] == NONE:
        return False
    return M[a + P.inside] == 0 if M[a + P.prompt] else closes


@helper
def room_for_both(M: Memory, a: int, flagged: bool, t: int) -> int:
    """Whether there is space for a beat, and for its flag if it has one."""
    wait = room(M, M[a + P.y], t)
    return room(M, M[a + P.padding], t) if flagged and wait == READY else wait


@helper
def fill(M: Memory, a: int, t: int) -> int:
    """One beat of padding."""
    level, rows = M[a + P.level], M[a + P.rows]
    row_ends = M[a + P.piece] == M[a + P.slices] - 1
    closes = row_ends and M[a + P.row] >= rows - 1
    flagged = flag_sent(M, a, closes)
    wait = room_for_both(M, a, flagged, t)
    if wait != READY:
        return wait
    M[a + P.piece] = 0 if row_ends else M[a + P.piece] + 1
    M[a + P.inside] = not closes
    stop = 1 if row_ends else 0
    if closes:
        M[a + P.row] = 0
        M[a + P.count] += 1
        stop = level
        if M[a + P.count] == M[a + P.chunk]:
            stop = M[a + P.short_stop]
            M[a + P.count], M[a + P.short_stop] = 0, NONE
    elif row_ends:
        M[a + P.row] += 1
    kind, low = (VALUE, 0) if rows else (BARE, level)
    push(M, M[a + P.y], t, make_beat(kind, stop, low, M[a + P.pad]))
    if flagged:
        known = 0 if M[a + P.prompt] else stop - level
        push(M, M[a + P.padding], t, make_beat(VALUE, known, 0, 1))
    return acted(M, t)


@step
def count(M: Memory, a: int, t: int) -> int:
    x, y, padding, level = M[a + P.x], M[a + P.y], M[a + P.padding], M[a + P.level]
    if M[a + P.short_stop] == NONE:
        wait = ready(M, x, t)
        if wait != READY:
            return wait
        if kind_of(head(M, x)) == DONE and M[a + P.count]:
            M[a + P.short_stop] = level + 1
    if M[a + P.short_stop] != NONE:
        return fill(M, a, t)

    beat = head(M, x)
    kind, stop, low = kind_of(beat), stop_of(beat), low_of(beat)
    group = kind == BARE and low > level
    closes = kind != DONE and not group and stop >= level
    if kind == DONE:
        flagged = padding != NONE
    elif group:
        flagged = padding != NONE and not M[a + P.prompt]
    else:
        flagged = flag_sent(M, a, closes)
    wait = room_for_both(M, a, flagged, t)
    if wait != READY:
        return wait
    pop(M, x, t)
    flag = beat
    if group:
        beat = make_beat(BARE, stop + 1, low + 1, 0)
        flag = make_beat(BARE, stop + 1 - level, low + 1 - level, 0)
    elif kind != DONE:
        M[a + P.inside] = not closes
        if closes:
            M[a + P.count] += 1
            if M[a + P.count] == M[a + P.chunk]:
                M[a + P.count] = 0
                stop += 1
            else:
                if stop > level:
                    M[a + P.short_stop] = stop + 1
                stop = level
        beat = make_beat(kind, stop, low, aux_of(beat))
        flag = make_beat(VALUE, 0 if M[a + P.prompt] else stop - level, 0, 0)
    push(M, y, t, beat)
    if flagged:
        push(M, padding, t, flag)
    return acted(M, t)


def build(unit: Unit, params: Reshape, layout: DesignLayout) -> None:
    """One actor for elements and padding."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    flags = [layout.channel(unit.outputs["padding"])] if params.flagged else []
    own = packed(
        P,
        x=x,
        y=y,
        padding=flags[0] if flags else NONE,
        level=params.level,
        chunk=params.chunk,
        rows=params.rows,
        slices=params.slices if params.rows else 1,
        pad=_padding(layout, layout.design.channel[unit.outputs["y"]], params),
        prompt=params.prompt,
        count=0,
        short_stop=NONE,
        row=0,
        piece=0,
        inside=0,
    )
    layout.actor(unit.name, "count", count, own, reads=[x], writes=[y, *flags])


def _padding(layout: DesignLayout, y: Channel, params: Reshape) -> int:
    """Value of a padding element in the model: its flag or number, or the address of several."""
    if params.level:
        return 0
    item = params.lane(y)
    return layout.reserve([item] * y.lanes) if y.lanes > 1 else item
