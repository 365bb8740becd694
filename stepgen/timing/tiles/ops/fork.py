"""fork: copies an element when all consumers have a free slot."""

from __future__ import annotations

from collections.abc import Sequence

from stepgen.ir.stream import Node
from stepgen.timing.kernel import *
from stepgen.timing.tiles import buffers
from stepgen.timing.tiles.actor import COMMON, fresh, is_done, send, take
from stepgen.timing.tiles.program import TileProgram

# `readers`: copies for which a buffer is kept, and -1 if the stream refers to none
P = record(*COMMON._fields, "x", "count", "readers", "outs")


@step
def copy(M: Memory, a: int, t: int) -> int:
    wait = ready(M, M[a + P.x], t)
    if wait != READY:
        return wait
    for n in range(M[a + P.count]):
        wait = room(M, M[a + P.outs + n], t)
        if wait != READY:
            return wait
    beat = take(M, M[a + P.x], t)
    if M[a + P.readers] >= 0:
        buffers.share(M, beat, M[a + P.readers])
    for n in range(M[a + P.count]):
        send(M, a, M[a + P.outs + n], t, beat)
    return NEVER if is_done(beat) else acted(M, t)


def own(x: int, outs: Sequence[int], refer: Sequence[bool]) -> list[int]:
    """The fields of a fork; of its outputs some may refer to buffers that are kept for them."""
    readers = sum(refer) if any(refer) else -1
    return fresh(P, x=x, count=len(outs), readers=readers, outs=outs)


def build(node: Node, to: TileProgram) -> None:
    """One actor for all consumers; the slowest stalls the others."""
    x, outs = to.input(node, 0), to.outputs(node)
    to.add(node, copy, own(x, outs, [to.refers(s) for s in node.outputs]), reads=[x], writes=outs)
