"""Cycle model of partition: a beat moves when all outputs that its selector names have space.

The done beat of x is passed on at once; that of the selectors is consumed after it.
"""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.partition.params import Partition
from stepgen.ir.wire import BARE, DONE, VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *
from stepgen.timing.selector import selected
from stepgen.timing.shares import MISSING, given_back

P = record("x", "sel", "level", "surplus", "given", "shares", "rest", "ended", "consumers", "y")


@helper
def lacking(M: Memory, a: int, beat: int, selector: int) -> int:
    """How many references of those in a beat the outputs chosen lack; below 0 if it has fewer."""
    if M[a + P.given] == 0 or kind_of(beat) != VALUE:
        return 0
    left = M[a + P.given]
    for n in range(M[a + P.consumers]):
        if selected(M, selector, n, M[a + P.consumers]):
            left -= M[M[a + P.shares] + n]
    return left


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
        rest = lacking(M, a, beat, selector)
        if rest < 0 or (rest and M[a + P.rest] == MISSING):
            return NEVER
        if rest:
            wait = room(M, M[a + P.rest], t)
            if wait != READY:
                return wait
        for n in range(consumers):
            if selected(M, selector, n, consumers):
                wait = room(M, M[a + P.y + n], t)
                if wait != READY:
                    return wait
        sent = make_beat(kind, min(stop_of(beat), level), low_of(beat), aux_of(beat))
        for n in range(consumers):
            if selected(M, selector, n, consumers):
                push(M, M[a + P.y + n], t, sent)
        if rest:
            push(M, M[a + P.rest], t, given_back(aux_of(beat), rest))
    pop(M, x, t)
    if stop_of(beat) >= level:
        pop(M, sel, t)
    return acted(M, t)


def build(unit: Unit, params: Partition, layout: DesignLayout) -> None:
    """One actor for all outputs."""
    x, sel = layout.channel(unit.inputs["x"]), layout.channel(unit.inputs["sel"])
    ys = [layout.channel(unit.outputs[port]) for port in params.ys]
    rest = layout.channel(unit.outputs["rest"]) if params.rests else MISSING
    writes = [*ys, *([rest] if rest else [])]
    own = packed(
        P,
        x=x,
        sel=sel,
        level=params.level,
        surplus=params.surplus,
        given=params.given,
        shares=layout.reserve(params.shares),
        rest=rest,
        ended=0,
        consumers=params.consumers,
        y=ys,
    )
    layout.actor(unit.name, "route", route, own, reads=[x, sel], writes=writes, finishes=True)
