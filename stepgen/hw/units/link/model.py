"""Cycle model of link: a beat as it is, in parts, or made of several."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.link.params import Link
from stepgen.ir.wire import VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("x", "y", "ratio", "rest", "part")


@step
def move(M: Memory, a: int, t: int) -> int:
    wait = can_pass(M, M[a + P.x], M[a + P.y], t)
    if wait != READY:
        return wait
    push(M, M[a + P.y], t, pop(M, M[a + P.x], t))
    return acted(M, t)


@step
def split(M: Memory, a: int, t: int) -> int:
    x, y = M[a + P.x], M[a + P.y]
    wait = can_pass(M, x, y, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    M[a + P.part] += 1
    parts = M[a + P.rest] if stop_of(beat) else M[a + P.ratio]
    if kind_of(beat) != VALUE or M[a + P.part] == parts:
        M[a + P.part] = 0
        push(M, y, t, pop(M, x, t))
    else:
        push(M, y, t, make_beat(VALUE, 0, low_of(beat), aux_of(beat)))
    return acted(M, t)


@step
def gather(M: Memory, a: int, t: int) -> int:
    x, y = M[a + P.x], M[a + P.y]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    inside = kind_of(beat) == VALUE and stop_of(beat) == 0
    if inside and M[a + P.part] + 1 < M[a + P.ratio]:
        M[a + P.part] += 1
        pop(M, x, t)
        return acted(M, t)
    wait = room(M, y, t)
    if wait != READY:
        return wait
    M[a + P.part] = 0
    push(M, y, t, pop(M, x, t))
    return acted(M, t)


def build(unit: Unit, params: Link, layout: DesignLayout) -> None:
    """One actor."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    own = packed(P, x=x, y=y, ratio=params.ratio, rest=params.rest, part=0)
    steps = split if params.take > params.give else gather
    moves = move if params.take == params.give else steps
    layout.actor(unit.name, "move", moves, own, reads=[x], writes=[y])
