"""random_offchip_store: one tile per address, held until it is written and acknowledged."""

from ....ir.stream import Node
from ...kernel import finish
from .. import loading, storing
from ..actor import (
    BUSY_UNTIL,
    IDLE,
    NEVER,
    READY,
    VALUE,
    acted,
    aux_of,
    head,
    is_done,
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
from ..storing import FIRST, ROW_BYTES, ROWS, begin, written

ADDRESSES, DATA, OUT, TILES = range(FIRST, FIRST + 4)


@step
def store(M, a, t):  # type: ignore[no-untyped-def]
    addresses, data, out = M[a + ADDRESSES], M[a + DATA], M[a + OUT]
    if M[a + BUSY_UNTIL] != IDLE:
        wait = written(M, a, t)
        if wait != READY:
            return wait
        M[a + BUSY_UNTIL] = t
        wait = room(M, out, t)
        if wait != READY:
            return wait
        M[a + BUSY_UNTIL] = IDLE
        send(M, a, out, t, value(1, stop_of(head(M, addresses))))
        take(M, addresses, t)
        take(M, data, t)
    wait = ready(M, addresses, t)
    if wait != READY:
        return wait
    wait = ready(M, data, t)
    if wait != READY:
        return wait
    beat = head(M, addresses)
    if kind_of(beat) == VALUE:
        if not 0 <= aux_of(beat) < M[a + TILES]:
            return NEVER
        begin(M, a, t, aux_of(beat) * M[a + ROWS] * M[a + ROW_BYTES])
        return written(M, a, t)
    wait = room(M, out, t)
    if wait != READY:
        return wait
    send(M, a, out, t, beat)
    take(M, addresses, t)
    take(M, data, t)
    if is_done(beat):
        finish(M, a)
        return NEVER
    return acted(M, t)


def build(node: Node, to: Program) -> None:
    """The acknowledgement has the structure of the address."""
    addresses, data = to.inputs(node)
    out = to.output(node)
    own = [*storing.fields(node, to, *node.attrs["tile"]), addresses, data, out]
    own.append(loading.tiles_of(node, to))
    actor = to.add(node, store, own, reads=[addresses, data], writes=[out], finishes=True)
    loading.check_number(node, to, actor, addresses, "names")
