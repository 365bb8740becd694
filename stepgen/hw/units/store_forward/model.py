"""Cycle model of store_forward: a queue, and beside it how many chunks in it are complete."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.store_forward.params import StoreForward
from stepgen.ir.wire import DONE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

W = record("x", "stored", "ends", "level")
R = record("stored", "ends", "y", "level")


@helper
def ends_chunk(beat: int, level: int) -> bool:
    """Whether the beat is the last of a chunk, or of the stream."""
    return kind_of(beat) == DONE or stop_of(beat) >= level


@step
def write(M: Memory, a: int, t: int) -> int:
    x, stored = M[a + W.x], M[a + W.stored]
    wait = can_pass(M, x, stored, t)
    if wait != READY:
        return wait
    beat = pop(M, x, t)
    push(M, stored, t, beat)
    if ends_chunk(beat, M[a + W.level]):
        push(M, M[a + W.ends], t, 0)
    return acted(M, t)


@step
def read(M: Memory, a: int, t: int) -> int:
    stored, ends, y = M[a + R.stored], M[a + R.ends], M[a + R.y]
    wait = ready(M, ends, t)
    if wait != READY:
        return wait
    wait = can_pass(M, stored, y, t)
    if wait != READY:
        return wait
    if ends_chunk(head(M, stored), M[a + R.level]):
        pop(M, ends, t)
    push(M, y, t, pop(M, stored, t))
    return acted(M, t)


def build(unit: Unit, params: StoreForward, layout: DesignLayout) -> None:
    """Two actors: one stores, the other sends what is complete."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    (queue,) = params.queues(unit, layout.design)
    stored = layout.internal(f"{unit.name}.{queue.name}", queue.depth, queue.latency)
    ends = layout.internal(f"{unit.name}.ends", queue.depth)
    own = packed(W, x=x, stored=stored, ends=ends, level=params.level)
    layout.actor(unit.name, "write", write, own, reads=[x], writes=[stored, ends])
    own = packed(R, stored=stored, ends=ends, y=y, level=params.level)
    layout.actor(unit.name, "read", read, own, reads=[stored, ends], writes=[y])
