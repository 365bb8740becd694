"""random_offchip_store: writes one tile per address; pops it when it is acknowledged."""

from __future__ import annotations

from stepgen.ir.stream import Node
from stepgen.ir.wire import VALUE
from stepgen.timing.kernel import *
from stepgen.timing.tiles import loading, storing
from stepgen.timing.tiles.actor import IDLE, fresh, is_done, send, take, value
from stepgen.timing.tiles.program import TileProgram
from stepgen.timing.tiles.storing import STORING, begin, written

P = record(*STORING._fields, "addresses", "data", "out", "tiles")


@step
def store(M: Memory, a: int, t: int) -> int:
    addresses, data, out = M[a + P.addresses], M[a + P.data], M[a + P.out]
    if M[a + P.busy_until] != IDLE:
        wait = written(M, a, t)
        if wait != READY:
            return wait
        M[a + P.busy_until] = t
        wait = room(M, out, t)
        if wait != READY:
            return wait
        M[a + P.busy_until] = IDLE
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
        if not 0 <= aux_of(beat) < M[a + P.tiles]:
            return NEVER
        begin(M, a, t, aux_of(beat) * M[a + P.rows] * M[a + P.row_bytes])
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


def build(node: Node, to: TileProgram) -> None:
    """The acknowledgement has the structure of the address."""
    addresses, data = to.inputs(node)
    out = to.output(node)
    own = fresh(
        P,
        **storing.fields(node, to, *node.attrs["tile"]),
        addresses=addresses,
        data=data,
        out=out,
        tiles=loading.tiles_of(node, to),
    )
    actor = to.add(node, store, own, reads=[addresses, data], writes=[out], finishes=True)
    to.order.watch(node, actor + P.accesses)
    loading.check_number(node, to, actor, addresses, "names")
