"""output: takes one element per cycle."""

from ....ir.stream import Node
from ...kernel import finish
from ..actor import PORTS, READY, acted, is_done, ready, step, take
from ..program import Program

IN = PORTS


@step
def drain(M, a, t):  # type: ignore[no-untyped-def]
    wait = ready(M, M[a + IN], t)
    if wait != READY:
        return wait
    if is_done(take(M, M[a + IN], t)):
        finish(M, a)
        return -2
    return acted(M, t)


@step
def drop(M, a, t):  # type: ignore[no-untyped-def]
    wait = ready(M, M[a + IN], t)
    if wait != READY:
        return wait
    return -2 if is_done(take(M, M[a + IN], t)) else acted(M, t)


def build(node: Node, to: Program) -> None:
    """The run lasts until the stream has ended."""
    x = to.input(node, 0)
    to.add(node, drain, [x], reads=[x], finishes=True)
