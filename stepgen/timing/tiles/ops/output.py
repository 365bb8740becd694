"""output: consumes one element per cycle; also for streams without consumers."""

from __future__ import annotations

from ....ir.stream import Node, Stream
from ...kernel import NEVER, READY, Memory, acted, finish, ready, record, step
from .. import buffers
from ..actor import COMMON, fresh, is_done, take
from ..program import Program, holds_buffers

P = record(*COMMON._fields, "x", "of_buffers")


@step
def drain(M: Memory, a: int, t: int) -> int:
    wait = ready(M, M[a + P.x], t)
    if wait != READY:
        return wait
    beat = take(M, M[a + P.x], t)
    if M[a + P.of_buffers]:
        buffers.share(M, beat, 0)
    if is_done(beat):
        finish(M, a)
        return NEVER
    return acted(M, t)


def own(stream: Stream, x: int) -> list[int]:
    """The fields of the actor of a stream."""
    return fresh(P, x=x, of_buffers=holds_buffers(stream))


def build(node: Node, to: Program) -> None:
    """The run lasts until the stream has ended."""
    x = to.input(node, 0)
    to.add(node, drain, own(node.inputs[0], x), reads=[x], finishes=True)
