"""output: takes one element per cycle."""

from ....ir.stream import Node
from ...kernel import finish
from .. import buffers
from ..actor import NEVER, PORTS, READY, acted, helper, is_done, ready, step, take
from ..program import Program, holds_buffers

IN, OF_BUFFERS = range(PORTS, PORTS + 2)


@helper
def taken(M, a, t):  # type: ignore[no-untyped-def]
    """Take the next element; a buffer that nobody reads is given back."""
    beat = take(M, M[a + IN], t)
    if M[a + OF_BUFFERS]:
        buffers.share(M, beat, 0)
    return beat


@step
def drain(M, a, t):  # type: ignore[no-untyped-def]
    wait = ready(M, M[a + IN], t)
    if wait != READY:
        return wait
    if is_done(taken(M, a, t)):
        finish(M, a)
        return NEVER
    return acted(M, t)


@step
def drop(M, a, t):  # type: ignore[no-untyped-def]
    wait = ready(M, M[a + IN], t)
    if wait != READY:
        return wait
    return NEVER if is_done(taken(M, a, t)) else acted(M, t)


def build(node: Node, to: Program) -> None:
    """The run lasts until the stream has ended."""
    x = to.input(node, 0)
    to.add(node, drain, [x, holds_buffers(node.inputs[0])], reads=[x], finishes=True)
