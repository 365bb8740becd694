"""Cycle model of partition: a beat moves when all outputs that its selector names have space.

The done beat of x is passed on at once; that of the selectors is consumed after it.
"""

from __future__ import annotations

from ....ir.wire import BARE, DONE
from ....timing.design_layout import DesignLayout
from ....timing.kernel import (
    NEVER,
    READY,
    Memory,
    acted,
    aux_of,
    finish,
    head,
    kind_of,
    low_of,
    make_beat,
    packed,
    pop,
    push,
    ready,
    record,
    room,
    step,
    stop_of,
)
from ....timing.selector import selected
from ...design.table import Unit
from .params import Partition

P = record("x", "sel", "level", "surplus", "ended", "consumers", "y")


@step
def route(M: Memory, a: int, t: int) -> int:
    x, sel, level, consumers = M[a + P.x], M[a + P.sel], M[a + P.level], M[a + P.consumers]
    if M[a + P.ended]:
        wait = ready(M, sel, t)
        if wait != READY:
            return wait
        if kind_of(head(M, sel)) != DONE and not M[a + P.surplus]:
            return NEVER
        if kind_of(pop(M, sel, t)) == DONE:
            M[a + P.ended] = 0
            finish(M, a)
        return acted(M, t)
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    kind = kind_of(beat)
    if kind == DONE:
        for n in range(consumers):
            wait = room(M, M[a + P.y + n], t)
            if wait != READY:
                return wait
        for n in range(consumers):
            push(M, M[a + P.y + n], t, beat)
        pop(M, x, t)
        M[a + P.ended] = 1
        return acted(M, t)
    wait = ready(M, sel, t)
    if wait != READY:
        return wait
    selector = head(M, sel)
    above = kind == BARE and low_of(beat) > level
    if kind_of(selector) == DONE or above != (kind_of(selector) == BARE):
        return NEVER
    if not above:
        for n in range(consumers):
            if selected(M, selector, n, consumers):
                wait = room(M, M[a + P.y + n], t)
                if wait != READY:
                    return wait
        sent = make_beat(kind, min(stop_of(beat), level), low_of(beat), aux_of(beat))
        for n in range(consumers):
            if selected(M, selector, n, consumers):
                push(M, M[a + P.y + n], t, sent)
    pop(M, x, t)
    if stop_of(beat) >= level:
        pop(M, sel, t)
    return acted(M, t)


def build(unit: Unit, params: Partition, layout: DesignLayout) -> None:
    """One actor for all outputs."""
    x, sel = layout.channel(unit.inputs["x"]), layout.channel(unit.inputs["sel"])
    ys = [layout.channel(name) for name in unit.outputs.values()]
    own = packed(
        P,
        x=x,
        sel=sel,
        level=params.level,
        surplus=params.surplus,
        ended=0,
        consumers=params.consumers,
        y=ys,
    )
    layout.actor(unit.name, "route", route, own, reads=[x, sel], writes=ys, finishes=True)
