"""unzip: sends the items of a tuple when all consumers have a free slot."""

from __future__ import annotations

from stepgen.ir.stream import Node
from stepgen.ir.wire import VALUE
from stepgen.timing.kernel import *
from stepgen.timing.tiles.actor import COMMON, fresh, is_done, send, take, value
from stepgen.timing.tiles.program import TileProgram

P = record(*COMMON._fields, "x", "count", "outs")


@step
def part(M: Memory, a: int, t: int) -> int:
    wait = ready(M, M[a + P.x], t)
    if wait != READY:
        return wait
    for n in range(M[a + P.count]):
        wait = room(M, M[a + P.outs + n], t)
        if wait != READY:
            return wait
    beat = take(M, M[a + P.x], t)
    for n in range(M[a + P.count]):
        item = beat
        if kind_of(beat) == VALUE:
            item = value(M[aux_of(beat) + n], stop_of(beat))
        send(M, a, M[a + P.outs + n], t, item)
    return NEVER if is_done(beat) else acted(M, t)


def build(node: Node, to: TileProgram) -> None:
    """The word of a tuple is the address of its items."""
    x, outs = to.input(node, 0), to.outputs(node)
    own = fresh(P, x=x, count=len(outs), outs=outs)
    to.add(node, part, own, reads=[x], writes=outs)
