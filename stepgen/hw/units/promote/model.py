"""Cycle model of promote: raises stop levels; for an outermost dim with a holding register."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.promote.params import Promote
from stepgen.ir.wire import BARE, DONE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("x", "level", "held", "branches", "ys")
NOTHING = -1


@helper
def raised(beat: int, level: int) -> int:
    """The beat with its levels rewritten for an inner dim."""
    stop, low = stop_of(beat), low_of(beat)
    if kind_of(beat) == DONE:
        return beat
    if kind_of(beat) == BARE and low > level:
        low += 1
    if stop >= level:
        stop += 1
    return make_beat(kind_of(beat), stop, low, aux_of(beat))


@step
def flow(M: Memory, a: int, t: int) -> int:
    x = M[a + P.x]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    wait = all_have_room(M, a + P.ys, M[a + P.branches], t)
    if wait != READY:
        return wait
    push_to_all(M, a + P.ys, M[a + P.branches], t, raised(pop(M, x, t), M[a + P.level]))
    return acted(M, t)


@step
def hold(M: Memory, a: int, t: int) -> int:
    x, held = M[a + P.x], M[a + P.held]
    seen = ready(M, x, t)
    if held == NOTHING:
        if seen != READY:
            return seen
        M[a + P.held] = pop(M, x, t)
        return acted(M, t)
    if kind_of(held) != DONE and stop_of(held) == M[a + P.level] - 1:
        if seen != READY:
            return seen
        if kind_of(head(M, x)) == DONE:
            held = make_beat(kind_of(held), M[a + P.level], low_of(held), aux_of(held))
    wait = all_have_room(M, a + P.ys, M[a + P.branches], t)
    if wait != READY:
        return wait
    push_to_all(M, a + P.ys, M[a + P.branches], t, held)
    M[a + P.held] = pop(M, x, t) if seen == READY else NOTHING
    return acted(M, t)


def build(unit: Unit, params: Promote, layout: DesignLayout) -> None:
    """One actor, with a holding register if the new dim is the outermost."""
    x, ys = layout.channel(unit.inputs["x"]), [layout.channel(y) for y in unit.outputs.values()]
    layout.actor(
        unit.name,
        "rewrite",
        hold if params.outermost else flow,
        packed(P, x=x, level=params.level, held=NOTHING, branches=params.branches, ys=ys),
        reads=[x],
        writes=ys,
    )
