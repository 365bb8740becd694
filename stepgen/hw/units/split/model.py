"""Cycle model of split: chunks are counted; the last beat of a part may wait for its group."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.split.params import Split
from stepgen.ir.wire import BARE, DONE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

# `sizes` and `held` are the addresses of a word per output
P = record("x", "level", "inside", "holds", "count", "sizes", "held", "part", "chunk", "y")


@step
def deal(M: Memory, a: int, t: int) -> int:
    x, level, count, y = M[a + P.x], M[a + P.level], M[a + P.count], a + P.y
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat, part = head(M, x), M[a + P.part]
    stop = stop_of(beat)
    if kind_of(beat) == DONE or (kind_of(beat) == BARE and low_of(beat) > level):
        for n in range(count):
            wait = room(M, M[y + n], t)
            if wait != READY:
                return wait
        for n in range(count):
            push(M, M[y + n], t, beat)
        pop(M, x, t)
        return acted(M, t)
    ends_chunk = stop >= level
    ends_part = ends_chunk and M[a + P.chunk] == M[M[a + P.sizes] + part] - 1
    ends_group = ends_part and part == count - 1
    for n in range(count):
        sends = n == part and not (ends_part and not ends_group and M[a + P.holds])
        if sends or (ends_group and M[a + P.holds]):
            wait = room(M, M[y + n], t)
            if wait != READY:
                return wait
    pop(M, x, t)
    if ends_part and not ends_group and M[a + P.holds]:
        M[M[a + P.held] + part] = beat
    elif ends_part and M[a + P.inside] and not ends_group:
        push(M, M[y + part], t, make_beat(kind_of(beat), level + 1, low_of(beat), aux_of(beat)))
    else:
        push(M, M[y + part], t, beat)
    if ends_group and M[a + P.holds]:
        for n in range(count - 1):
            held = M[M[a + P.held] + n]
            push(M, M[y + n], t, make_beat(kind_of(held), stop, low_of(held), aux_of(held)))
    if ends_part:
        M[a + P.part] = 0 if ends_group else part + 1
        M[a + P.chunk] = 0
    elif ends_chunk:
        M[a + P.chunk] += 1
    return acted(M, t)


def build(unit: Unit, params: Split, layout: DesignLayout) -> None:
    """One actor for all outputs."""
    x = layout.channel(unit.inputs["x"])
    ys = [layout.channel(name) for name in unit.outputs.values()]
    rank, count = layout.design.channel[unit.inputs["x"]].rank, len(params.sizes)
    assert rank is not None
    own = packed(
        P,
        x=x,
        level=params.level,
        inside=rank > params.level,
        holds=params.holds(rank),
        count=count,
        sizes=layout.reserve(params.sizes),
        held=layout.reserve([0] * count),
        part=0,
        chunk=0,
        y=ys,
    )
    layout.actor(unit.name, "deal", deal, own, reads=[x], writes=ys)
