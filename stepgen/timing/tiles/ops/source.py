"""source: sends one element per cycle."""

from __future__ import annotations

from stepgen.ir.stream import Node
from stepgen.timing.kernel import *
from stepgen.timing.tiles.actor import COMMON, fresh, send
from stepgen.timing.tiles.program import TileProgram

P = record(*COMMON._fields, "out", "next_word", "end")


@step
def give(M: Memory, a: int, t: int) -> int:
    if M[a + P.next_word] == M[a + P.end]:
        return NEVER
    wait = room(M, M[a + P.out], t)
    if wait != READY:
        return wait
    send(M, a, M[a + P.out], t, M[M[a + P.next_word]])
    M[a + P.next_word] += 1
    return acted(M, t)


def build(node: Node, to: TileProgram) -> None:
    """The content of the stream is an input of the run."""
    words = to.given(node)
    out, first = to.output(node), to.reserve(words)
    own = fresh(P, out=out, next_word=first, end=first + len(words))
    to.add(node, give, own, writes=[out])
