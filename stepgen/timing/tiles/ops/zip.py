"""zip: joins elements to tuples, one per cycle."""

from __future__ import annotations

from stepgen.ir.stream import Node
from stepgen.ir.wire import VALUE
from stepgen.timing.kernel import *
from stepgen.timing.tiles.actor import COMMON, fresh, grab, send, take, value
from stepgen.timing.tiles.program import TileProgram

P = record(*COMMON._fields, "out", "count", "ins")


@step
def join(M: Memory, a: int, t: int) -> int:
    wait = all_ready(M, a + P.ins, M[a + P.count], t)
    if wait != READY:
        return wait
    wait = room(M, M[a + P.out], t)
    if wait != READY:
        return wait
    beat = head(M, M[a + P.ins])
    if kind_of(beat) == VALUE:
        items = grab(M, M[a + P.count])
        for n in range(M[a + P.count]):
            M[items + n] = aux_of(head(M, M[a + P.ins + n]))
        beat = value(items, stop_of(beat))
    for n in range(M[a + P.count]):
        take(M, M[a + P.ins + n], t)
    send(M, a, M[a + P.out], t, beat)
    return acted(M, t)


def build(node: Node, to: TileProgram) -> None:
    """The word of a tuple is the address of its items."""
    ins, out = to.inputs(node), to.output(node)
    own = fresh(P, out=out, count=len(ins), ins=ins)
    to.add(node, join, own, reads=ins, writes=[out])
