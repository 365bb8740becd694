"""output: takes one element per cycle; so does the end of a stream that nobody reads."""

from ....ir.stream import Node
from ...kernel import finish
from .. import buffers
from ..actor import NEVER, PORTS, READY, acted, is_done, ready, step, take
from ..program import Program, holds_buffers

IN, OF_BUFFERS = range(PORTS, PORTS + 2)


@step
def drain(M, a, t):  # type: ignore[no-untyped-def]
    wait = ready(M, M[a + IN], t)
    if wait != READY:
        return wait
    beat = take(M, M[a + IN], t)
    if M[a + OF_BUFFERS]:
        buffers.share(M, beat, 0)
    if is_done(beat):
        finish(M, a)
        return NEVER
    return acted(M, t)


def build(node: Node, to: Program) -> None:
    """The run lasts until the stream has ended."""
    x = to.input(node, 0)
    to.add(node, drain, [x, holds_buffers(node.inputs[0])], reads=[x], finishes=True)
