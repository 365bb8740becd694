"""Cycle model of span: a beat for each address of the range at the head."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.span.params import SELECTORS, Span
from stepgen.ir.wire import BARE, VALUE, number_limit
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("x", "y", "special", "raised", "least", "most", "limit", "number", "bits")
# `special` is the place of the address that selects consumer 0: 0 for the first, 1 for the last
# one, -1 where addresses are sent. From `bits` on lie a 1 between two zeros.


@step
def go_through(M: Memory, a: int, t: int) -> int:
    x, y, raised = M[a + P.x], M[a + P.y], M[a + P.raised]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    kind, stop = kind_of(beat), stop_of(beat)
    start = length = 0
    if kind == VALUE:
        start, length = M[aux_of(beat)], M[aux_of(beat) + 1]
        if not M[a + P.least] <= length <= M[a + P.most]:
            return fault(M, a, t, length)
    wait = can_pass(M, x, y, t)
    if wait != READY:
        return wait
    if kind != VALUE:
        pop(M, x, t)
        if kind == BARE:
            beat = make_beat(BARE, stop + raised, low_of(beat) + raised, 0)
        push(M, y, t, beat)
        return acted(M, t)
    number = M[a + P.number] if raised else length - 1
    last = number + 1 >= length
    stop = stop + raised if last else 0
    if length == 0:
        push(M, y, t, make_beat(BARE, stop, 1, 0))
    elif M[a + P.special] < 0:
        push(M, y, t, make_beat(VALUE, stop, 0, min(start + number, M[a + P.limit])))
    else:
        special = last if M[a + P.special] else number == 0
        push(M, y, t, make_beat(VALUE, stop, 0, a + P.bits + (1 if special else 0)))
    M[a + P.number] = 0 if last else number + 1
    if last:
        pop(M, x, t)
    return acted(M, t)


def build(unit: Unit, params: Span, layout: DesignLayout) -> None:
    """One actor, which knows its place in the range."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    bits = layout.design.channel[unit.inputs["x"]].bits
    most = params.longest(bits)
    own = packed(
        P,
        x=x,
        y=y,
        special=SELECTORS.index(params.makes) if params.makes in SELECTORS else -1,
        raised=params.raised,
        least=params.least,
        most=most,
        limit=number_limit(bits),
        number=0,
        bits=[0, 1, 0],
    )
    actor = layout.actor(unit.name, "go through", go_through, own, reads=[x], writes=[y])
    layout.reports(
        actor,
        unit,
        lambda length: (
            f"{unit.name} gets a range of {length} addresses, and takes {params.least} to {most}"
        ),
    )
