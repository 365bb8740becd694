"""linear_offchip_store: one tile after the other, each held until it is written."""

from ....ir.stream import Node
from ...kernel import finish
from .. import storing
from ..actor import (
    BUSY_UNTIL,
    IDLE,
    NEVER,
    READY,
    TOKENS,
    TRAFFIC,
    VALUE,
    acted,
    area,
    aux_of,
    cols_of,
    head,
    is_done,
    kind_of,
    ready,
    rows_of,
    step,
    take,
)
from ..program import Program
from ..storing import FIRST, ROW_BYTES, ROWS, begin, written

IN, ELEMENT = range(FIRST, FIRST + 2)


@step
def store(M, a, t):  # type: ignore[no-untyped-def]
    x = M[a + IN]
    if M[a + BUSY_UNTIL] != IDLE:
        wait = written(M, a, t)
        if wait != READY:
            return wait
        take(M, x, t)
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    if kind_of(beat) == VALUE and area(aux_of(beat)):
        M[a + ROWS] = rows_of(aux_of(beat))
        M[a + ROW_BYTES] = cols_of(aux_of(beat)) * M[a + ELEMENT]
        begin(M, a, t, M[a + TRAFFIC])
        M[a + TOKENS] += 1
        return written(M, a, t)
    take(M, x, t)
    if is_done(beat):
        finish(M, a)
        return NEVER
    return acted(M, t)


def build(node: Node, to: Program) -> None:
    """Structure is ignored; tiles may have any number of rows."""
    x = to.input(node, 0)
    own = [*storing.fields(node, to, 1, 1), x]
    own.append(to.machine.policy.bytes_per_element(to.tile_type(node.inputs[0])))
    to.add(node, store, own, reads=[x], finishes=True)
