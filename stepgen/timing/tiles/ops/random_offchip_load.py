"""random_offchip_load: asks for one tile per address, one by one, while places are free."""

from ....ir.stream import Node
from ...kernel import push
from .. import loading
from ..actor import (
    BUSY_UNTIL,
    IDLE,
    NEVER,
    READY,
    VALUE,
    acted,
    aux_of,
    can_pass,
    head,
    is_done,
    kind_of,
    step,
    stop_of,
    take,
)
from ..loading import FIRST, LINE, asked, fetch
from ..program import Program

ADDRESSES, TILES = range(FIRST, FIRST + 2)


@step
def load(M, a, t):  # type: ignore[no-untyped-def]
    addresses, line = M[a + ADDRESSES], M[a + LINE]
    if M[a + BUSY_UNTIL] != IDLE:
        wait = asked(M, a, t)
        if wait != READY:
            return wait
    wait = can_pass(M, addresses, line, t)
    if wait != READY:
        return wait
    beat = head(M, addresses)
    if kind_of(beat) == VALUE and not 0 <= aux_of(beat) < M[a + TILES]:
        return NEVER
    take(M, addresses, t)
    if kind_of(beat) != VALUE:
        push(M, line, t, beat)
        return NEVER if is_done(beat) else acted(M, t)
    wait = fetch(M, a, t, aux_of(beat), stop_of(beat))
    return acted(M, t) if wait == READY else wait


def build(node: Node, to: Program) -> None:
    """Addresses are numbers of tiles."""
    (addresses,) = to.inputs(node)
    line, own = loading.build(node, to)
    own += [addresses, loading.tiles_of(node, to)]
    actor = to.add(node, load, own, reads=[addresses], writes=[line], name="asks")
    loading.check_number(node, to, actor, addresses, "asks for")
