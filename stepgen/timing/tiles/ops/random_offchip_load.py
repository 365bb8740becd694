"""random_offchip_load: requests one tile per address, up to the number in flight."""

from __future__ import annotations

from stepgen.ir.stream import Node
from stepgen.ir.wire import VALUE
from stepgen.timing.kernel import *
from stepgen.timing.tiles import loading
from stepgen.timing.tiles.actor import IDLE, fresh, is_done, take
from stepgen.timing.tiles.loading import LOADING, asked, fetch
from stepgen.timing.tiles.program import TileProgram

P = record(*LOADING._fields, "addresses", "tiles")


@step
def load(M: Memory, a: int, t: int) -> int:
    addresses, line = M[a + P.addresses], M[a + P.line]
    if M[a + P.busy_until] != IDLE:
        wait = asked(M, a, t)
        if wait != READY:
            return wait
    wait = can_pass(M, addresses, line, t)
    if wait != READY:
        return wait
    beat = head(M, addresses)
    if kind_of(beat) == VALUE and not 0 <= aux_of(beat) < M[a + P.tiles]:
        return NEVER
    take(M, addresses, t)
    if kind_of(beat) != VALUE:
        push(M, line, t, beat)
        return NEVER if is_done(beat) else acted(M, t)
    wait = fetch(M, a, t, aux_of(beat), stop_of(beat))
    return acted(M, t) if wait == READY else wait


def build(node: Node, to: TileProgram) -> None:
    """Addresses are numbers of tiles."""
    (addresses,) = to.inputs(node)
    line, asking = loading.build(node, to)
    own = fresh(P, **asking, addresses=addresses, tiles=loading.tiles_of(node, to))
    actor = to.add(node, load, own, reads=[addresses], writes=[line], name="request")
    to.order.watch(node, actor + P.accesses)
    loading.check_number(node, to, actor, addresses, "asks for")
