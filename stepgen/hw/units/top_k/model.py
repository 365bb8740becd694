"""Cycle model of top_k: an element per cycle; with the last one of a row the result."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.top_k.params import TopK
from stepgen.ir.wire import DONE, VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("x", "y", "columns", "lanes", "beats", "lowered", "column", "sent", "next")
# `next` is the address of the contents of the next selector, 0 for scores.


@step
def choose(M: Memory, a: int, t: int) -> int:
    x, y, down = M[a + P.x], M[a + P.y], M[a + P.lowered]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    kind, stop = kind_of(beat), stop_of(beat)
    if kind == VALUE and M[a + P.column] + 1 < M[a + P.columns]:
        M[a + P.column] += 1
        if M[a + P.column] % M[a + P.lanes] == 0:
            pop(M, x, t)
        return acted(M, t)
    wait = room(M, y, t)
    if wait != READY:
        return wait
    if kind != VALUE:
        pop(M, x, t)
        push(
            M, y, t, beat if kind == DONE else make_beat(kind, stop - down, low_of(beat) - down, 0)
        )
        return acted(M, t)
    aux = 0
    if M[a + P.next]:
        aux = M[M[a + P.next]]
        M[a + P.next] += 1
    M[a + P.sent] += 1
    if M[a + P.sent] < M[a + P.beats]:
        push(M, y, t, make_beat(VALUE, 0, 0, 0))
        return acted(M, t)
    push(M, y, t, make_beat(VALUE, stop - down, 0, aux))
    pop(M, x, t)
    M[a + P.column], M[a + P.sent] = 0, 0
    return acted(M, t)


def build(unit: Unit, params: TopK, layout: DesignLayout) -> None:
    """One actor; the contents of its selectors are given, as those of an input are."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    own = packed(
        P,
        x=x,
        y=y,
        columns=params.columns,
        lanes=layout.design.lanes,
        beats=params.beats(layout.design.lanes),
        lowered=params.lowered,
        column=0,
        sent=0,
        next=layout.decided(unit) if params.decides else 0,
    )
    layout.actor(unit.name, "choose", choose, own, reads=[x], writes=[y])
