"""zip: elements side by side, one per cycle."""

from ....ir.stream import Node
from ..actor import (
    PORTS,
    READY,
    VALUE,
    acted,
    aux_of,
    grab,
    head,
    kind_of,
    ready,
    room,
    send,
    step,
    stop_of,
    take,
    value,
)
from ..program import Program

OUT, COUNT, INS = range(PORTS, PORTS + 3)


@step
def join(M, a, t):  # type: ignore[no-untyped-def]
    for n in range(M[a + COUNT]):
        wait = ready(M, M[a + INS + n], t)
        if wait != READY:
            return wait
    wait = room(M, M[a + OUT], t)
    if wait != READY:
        return wait
    beat = head(M, M[a + INS])
    if kind_of(beat) == VALUE:
        items = grab(M, M[a + COUNT])
        for n in range(M[a + COUNT]):
            M[items + n] = aux_of(head(M, M[a + INS + n]))
        beat = value(items, stop_of(beat))
    for n in range(M[a + COUNT]):
        take(M, M[a + INS + n], t)
    send(M, a, M[a + OUT], t, beat)
    return acted(M, t)


def build(node: Node, to: Program) -> None:
    """A tuple is an address of its items."""
    ins, out = to.inputs(node), to.output(node)
    to.add(node, join, [out, len(ins), *ins], reads=ins, writes=[out])
