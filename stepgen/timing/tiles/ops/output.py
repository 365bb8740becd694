"""output: consumes one element per cycle; also for streams without consumers."""

from __future__ import annotations

from stepgen.ir.stream import Node
from stepgen.timing.kernel import *
from stepgen.timing.tiles import buffers
from stepgen.timing.tiles.actor import COMMON, fresh, is_done, take
from stepgen.timing.tiles.program import TileProgram

P = record(*COMMON._fields, "x", "refers")


@step
def drain(M: Memory, a: int, t: int) -> int:
    wait = ready(M, M[a + P.x], t)
    if wait != READY:
        return wait
    beat = take(M, M[a + P.x], t)
    if M[a + P.refers]:
        buffers.share(M, beat, 0)
    if is_done(beat):
        finish(M, a)
        return NEVER
    return acted(M, t)


def own(x: int, *, refers: bool) -> list[int]:
    """The fields of the actor of a stream, which may refer to buffers."""
    return fresh(P, x=x, refers=refers)


def build(node: Node, to: TileProgram) -> None:
    """The run lasts until the stream has ended."""
    x = to.input(node, 0)
    to.add(node, drain, own(x, refers=to.refers(node.inputs[0])), reads=[x], finishes=True)
