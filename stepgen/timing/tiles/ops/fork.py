"""fork: an element goes on when all consumers have room."""

from ....ir.stream import Node
from .. import buffers
from ..actor import NEVER, PORTS, READY, acted, is_done, ready, room, send, step, take
from ..program import Program, holds_buffers

IN, COUNT, OF_BUFFERS, OUTS = range(PORTS, PORTS + 4)


@step
def copy(M, a, t):  # type: ignore[no-untyped-def]
    wait = ready(M, M[a + IN], t)
    if wait != READY:
        return wait
    for n in range(M[a + COUNT]):
        wait = room(M, M[a + OUTS + n], t)
        if wait != READY:
            return wait
    beat = take(M, M[a + IN], t)
    if M[a + OF_BUFFERS]:
        buffers.share(M, beat, M[a + COUNT])
    for n in range(M[a + COUNT]):
        send(M, a, M[a + OUTS + n], t, beat)
    return NEVER if is_done(beat) else acted(M, t)


def build(node: Node, to: Program) -> None:
    """All consumers at once; the slowest holds back the others."""
    x, outs = to.input(node, 0), to.outputs(node)
    own = [x, len(outs), holds_buffers(node.inputs[0]), *outs]
    to.add(node, copy, own, reads=[x], writes=outs)
