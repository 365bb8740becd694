"""flatten: rewrites stops, one element per cycle; empty groups may take a holding register."""

from __future__ import annotations

from stepgen.ir.stream import Node
from stepgen.ir.wire import BARE
from stepgen.timing.kernel import *
from stepgen.timing.tiles.actor import fresh, is_done, take
from stepgen.timing.tiles.holding import HOLDING, close, put
from stepgen.timing.tiles.program import TileProgram

P = record(*HOLDING._fields, "x", "lo", "hi")


@step
def rewrite(M: Memory, a: int, t: int) -> int:
    x, lo, hi = M[a + P.x], M[a + P.lo], M[a + P.hi]
    wait = can_pass(M, x, M[a + P.out], t)
    if wait != READY:
        return wait
    beat = head(M, x)
    kind, stop, low, down = kind_of(beat), stop_of(beat), low_of(beat), hi - lo
    if kind == BARE and lo < low <= hi:
        if stop > hi:
            close(M, a, t, lo + 1, stop - down)
        take(M, x, t)
        return acted(M, t)
    final = is_done(beat) or stop < lo or stop > hi
    stop = min(stop, lo) if stop <= hi else stop - down
    sent = make_beat(kind, stop, low - down if low > hi else low, aux_of(beat))
    if put(M, a, t, sent, final):
        take(M, x, t)
        if is_done(beat):
            return NEVER
    return acted(M, t)


def build(node: Node, to: TileProgram) -> None:
    """Levels up to `lo` stay, those of the merged dims vanish, those above are lowered."""
    (x,), out = to.inputs(node), to.output(node)
    lo, hi = node.attrs["lo"], node.attrs["hi"]
    stream = node.inputs[0]
    inner = [stream.dim(level) for level in range(lo, hi)]
    holds = hi < stream.rank and any(d.may_be_empty for d in inner)
    own = fresh(P, out=out, holds=holds, held=0, has_held=0, x=x, lo=lo, hi=hi)
    to.add(node, rewrite, own, reads=[x], writes=[out])
