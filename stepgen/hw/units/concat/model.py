"""Cycle model of concat: a group of one input after that of another."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.concat.params import Concat
from stepgen.ir.wire import BARE, DONE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("y", "level", "streams", "current", "x")


@step
def join(M: Memory, a: int, t: int) -> int:
    y, level, current = M[a + P.y], M[a + P.level], M[a + P.current]
    x = M[a + P.x + current]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    kind, stop = kind_of(beat), stop_of(beat)
    last = current == M[a + P.streams] - 1
    empty = kind == BARE and low_of(beat) > level
    if last or not (kind == DONE or empty):
        wait = room(M, y, t)
        if wait != READY:
            return wait
        sent = stop if last else min(stop, level)
        push(M, y, t, make_beat(kind, sent, low_of(beat), aux_of(beat)))
    pop(M, x, t)
    if kind == DONE or stop > level:
        M[a + P.current] = 0 if last else current + 1
    return acted(M, t)


def build(unit: Unit, params: Concat, layout: DesignLayout) -> None:
    """One actor for all inputs."""
    xs = [layout.channel(name) for name in unit.inputs.values()]
    y = layout.channel(unit.outputs["y"])
    own = packed(P, y=y, level=params.level, streams=params.streams, current=0, x=xs)
    layout.actor(unit.name, "join", join, own, reads=xs, writes=[y])
