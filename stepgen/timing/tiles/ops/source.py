"""source: one element per cycle."""

from ....ir.stream import Node
from ..actor import NEVER, PORTS, READY, acted, room, send, step
from ..program import Program

OUT, NEXT_WORD, END = range(PORTS, PORTS + 3)


@step
def give(M, a, t):  # type: ignore[no-untyped-def]
    if M[a + NEXT_WORD] == M[a + END]:
        return NEVER
    wait = room(M, M[a + OUT], t)
    if wait != READY:
        return wait
    send(M, a, M[a + OUT], t, M[M[a + NEXT_WORD]])
    M[a + NEXT_WORD] += 1
    return acted(M, t)


def build(node: Node, to: Program) -> None:
    """What the stream holds was given from outside."""
    words = to.given(node)
    out, first = to.output(node), to.reserve(words)
    to.add(node, give, [out, first, first + len(words)], writes=[out])
