"""Cycle model of locate: the last beat of a group gives one; the pipeline is behind it."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.locate.params import Locate
from stepgen.ir.wire import BARE, DONE, VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("x", "y", "level", "lowered", "found", "next")
# `next` is the address of the contents of the next address, 0 where tiles are made.


@step
def locate(M: Memory, a: int, t: int) -> int:
    x, y, down = M[a + P.x], M[a + P.y], M[a + P.lowered]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    kind, stop, low = kind_of(beat), stop_of(beat), low_of(beat)
    above = kind == DONE or (kind == BARE and low > M[a + P.level])
    ends = above or stop >= M[a + P.level]
    if kind == VALUE:
        M[a + P.found] = 1
    if ends and not above and not M[a + P.found]:
        return fault(M, a, t, 0)
    if ends:
        wait = room(M, y, t)
        if wait != READY:
            return wait
        if kind == BARE and above:
            beat = make_beat(BARE, stop - down, low - down, 0)
        elif not above:
            aux = 0
            if M[a + P.next]:
                aux = M[M[a + P.next]]
                M[a + P.next] += 1
            beat = make_beat(VALUE, stop - down, 0, aux)
        push(M, y, t, beat)
        M[a + P.found] = 0
    pop(M, x, t)
    return acted(M, t)


def build(unit: Unit, params: Locate, layout: DesignLayout) -> None:
    """One actor; addresses that it makes are given, as the contents of an input are."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    own = packed(
        P,
        x=x,
        y=y,
        level=params.level,
        lowered=params.lowered,
        found=0,
        next=layout.decided(unit) if params.decides else 0,
    )
    actor = layout.actor(unit.name, "locate", locate, own, reads=[x], writes=[y])
    layout.reports(actor, unit)
