"""Cycle model of expand: a ring buffer, read several times, the first time while it fills."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.expand.params import Expand
from stepgen.ir.wire import BARE, DONE, VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.elements import E, reduce
from stepgen.timing.kernel import *
from stepgen.timing.kernel import POPPED, ready_at

W = record("x", "ring", "ends", "base")
R = record("ring", "ends", "y", "ref", "count", "base", "rank", "position", "passes")

LAST = -1
"""`passes` in the last pass over an element."""


@helper
def is_closing(beat: int, base: int) -> bool:
    """Whether the beat is the last of its element, or not part of one."""
    return kind_of(beat) != VALUE or stop_of(beat) >= base


@helper
def is_outer(beat: int, base: int) -> bool:
    """Whether the beat is an empty group above the elements or the end of the stream."""
    return kind_of(beat) == DONE or (kind_of(beat) == BARE and low_of(beat) > base)


@step
def write(M: Memory, a: int, t: int) -> int:
    x, ring, ends = M[a + W.x], M[a + W.ring], M[a + W.ends]
    wait = can_pass(M, x, ring, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    if is_closing(beat, M[a + W.base]):
        wait = room(M, ends, t)
        if wait != READY:
            return wait
        push(M, ends, t, beat)
    push(M, ring, t, pop(M, x, t))
    return acted(M, t)


@helper
def advance(M: Memory, a: int, t: int) -> int:
    """Read the beat at the position; `passes` is `LAST` in an element's last pass."""
    ring = M[a + R.ring]
    closing = is_closing(beat_at(M, ring, M[ring + POPPED] + M[a + R.position]), M[a + R.base])
    if M[a + R.passes] == LAST:
        pop(M, ring, t)
        if closing:
            pop(M, M[a + R.ends], t)
            M[a + R.passes] = 0
    elif closing:
        M[a + R.position] = 0
        M[a + R.passes] += 1
    else:
        M[a + R.position] += 1
    return acted(M, t)


@step
def repeat(M: Memory, a: int, t: int) -> int:
    ring, y, base = M[a + R.ring], M[a + R.y], M[a + R.base]
    wait = ready_at(M, ring, M[ring + POPPED] + M[a + R.position], t)
    if wait != READY:
        return wait
    wait = room(M, y, t)
    if wait != READY:
        return wait
    beat = beat_at(M, ring, M[ring + POPPED] + M[a + R.position])
    kind, stop = kind_of(beat), stop_of(beat)
    if is_outer(beat, base) or M[a + R.passes] == M[a + R.count] - 1:
        M[a + R.passes] = LAST
    if M[a + R.passes] != LAST:
        stop = min(stop, base)
    push(M, y, t, make_beat(kind, stop, low_of(beat), aux_of(beat)))
    return advance(M, a, t)


@step
def follow(M: Memory, a: int, t: int) -> int:
    ring, y, ref = M[a + R.ring], M[a + R.y], M[a + R.ref]
    base, rank = M[a + R.base], M[a + R.rank]
    wait = ready(M, ref, t)
    if wait != READY:
        return wait
    element = head(M, ref)
    stop, low = stop_of(element), low_of(element)
    hole = kind_of(element) == BARE and low <= rank
    hole_beat = make_beat(BARE, stop + base, low + base, 0)
    if hole and stop < rank:
        wait = room(M, y, t)
        if wait != READY:
            return wait
        push(M, y, t, hole_beat)
        pop(M, ref, t)
        return acted(M, t)

    wait = ready_at(M, ring, M[ring + POPPED] + M[a + R.position], t)
    if wait != READY:
        return wait
    beat = beat_at(M, ring, M[ring + POPPED] + M[a + R.position])
    kind, outer, closing = kind_of(beat), is_outer(beat, base), is_closing(beat, base)
    if outer and (hole or kind != kind_of(element)):
        return NEVER
    if not outer and not hole and kind_of(element) != VALUE:
        return NEVER
    if not hole or closing:
        wait = room(M, y, t)
        if wait != READY:
            return wait
        if hole:
            push(M, y, t, hole_beat)
        elif closing and kind != DONE:
            push(M, y, t, make_beat(kind, stop + base, low_of(beat), aux_of(beat)))
        else:
            push(M, y, t, beat)
    if closing:
        pop(M, ref, t)
    if outer or stop >= rank:
        M[a + R.passes] = LAST
    return advance(M, a, t)


def build(unit: Unit, params: Expand, layout: DesignLayout) -> None:
    """Two actors joined by the ring, and one that reduces a reference of tiles."""
    name = unit.name
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    ring = layout.internal(f"{name}.ring", params.capacity)
    ends, *elements = (
        layout.internal(f"{name}.{c.name}", c.depth, c.latency)
        for c in params.queues(unit, layout.design)
    )
    own = packed(W, x=x, ring=ring, ends=ends, base=params.base)
    layout.actor(name, "write", write, own, reads=[x], writes=[ring, ends])
    refs = [layout.channel(unit.inputs["ref"])] if params.count is None else []
    if elements:
        own = packed(E, ref=refs[0], elements=elements[0], base=params.ref_base)
        layout.actor(name, "reference", reduce, own, reads=refs, writes=elements)
        refs = elements
    own = packed(
        R,
        ring=ring,
        ends=ends,
        y=y,
        ref=refs[0] if refs else 0,
        count=params.count or 0,
        base=params.base,
        rank=params.level - params.base,
        position=0,
        passes=0,
    )
    layout.actor(
        name, "read", follow if refs else repeat, own, reads=[ring, ends, *refs], writes=[y]
    )
