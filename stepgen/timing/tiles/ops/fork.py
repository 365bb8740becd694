"""fork: copies an element when all consumers have a free slot."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.stream import Node, Stream
from ...kernel import NEVER, READY, Memory, acted, ready, record, room, step
from .. import buffers
from ..actor import COMMON, fresh, is_done, send, take
from ..program import Program, holds_buffers

P = record(*COMMON._fields, "x", "count", "of_buffers", "outs")


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
    if M[a + P.of_buffers]:
        buffers.share(M, beat, M[a + P.count])
    for n in range(M[a + P.count]):
        send(M, a, M[a + P.outs + n], t, beat)
    return NEVER if is_done(beat) else acted(M, t)


def own(stream: Stream, x: int, outs: Sequence[int]) -> list[int]:
    """The fields of a fork of a stream."""
    return fresh(P, x=x, count=len(outs), of_buffers=holds_buffers(stream), outs=outs)


def build(node: Node, to: Program) -> None:
    """One actor for all consumers; the slowest stalls the others."""
    x, outs = to.input(node, 0), to.outputs(node)
    to.add(node, copy, own(node.inputs[0], x, outs), reads=[x], writes=outs)
