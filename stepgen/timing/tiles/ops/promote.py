"""promote: rewrites stops, one element per cycle; an outermost dim takes a holding register."""

from __future__ import annotations

from stepgen.ir.stream import Node
from stepgen.ir.wire import BARE
from stepgen.timing.kernel import *
from stepgen.timing.tiles.actor import fresh, is_done, take
from stepgen.timing.tiles.holding import HOLDING, close, put
from stepgen.timing.tiles.program import TileProgram

P = record(*HOLDING._fields, "x", "level", "rank")


@step
def rewrite(M: Memory, a: int, t: int) -> int:
    x, level = M[a + P.x], M[a + P.level]
    wait = can_pass(M, x, M[a + P.out], t)
    if wait != READY:
        return wait
    beat = head(M, x)
    stop, low = stop_of(beat), low_of(beat)
    final = is_done(beat)
    if level > M[a + P.rank]:
        if final and M[a + P.has_held]:
            close(M, a, t, level, level)
            return acted(M, t)
        final = final or stop < M[a + P.rank]
    else:
        final = True
        stop += stop >= level and not is_done(beat)
        low += kind_of(beat) == BARE and low > level
    if put(M, a, t, make_beat(kind_of(beat), stop, low, aux_of(beat)), final):
        take(M, x, t)
        if is_done(beat):
            return NEVER
    return acted(M, t)


def build(node: Node, to: TileProgram) -> None:
    """Levels from `level` on rise by one."""
    (x,), out = to.inputs(node), to.output(node)
    level, rank = node.attrs["level"], node.inputs[0].rank
    own = fresh(P, out=out, holds=level > rank, held=0, has_held=0, x=x, level=level, rank=rank)
    to.add(node, rewrite, own, reads=[x], writes=[out])
