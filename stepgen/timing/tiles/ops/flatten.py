"""flatten: rewrites stops, one element per cycle; holds one back where a group may be empty."""

from ....ir.stream import Node
from ..actor import (
    BARE,
    NEVER,
    READY,
    acted,
    aux_of,
    can_pass,
    head,
    is_done,
    kind_of,
    low_of,
    make_beat,
    step,
    stop_of,
    take,
)
from ..holding import FIRST, OUT, close, put
from ..program import Program

IN, LO, HI = range(FIRST, FIRST + 3)


@step
def rewrite(M, a, t):  # type: ignore[no-untyped-def]
    x, lo, hi = M[a + IN], M[a + LO], M[a + HI]
    wait = can_pass(M, x, M[a + OUT], t)
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


def build(node: Node, to: Program) -> None:
    """Levels up to `lo` stay, those of the joined dims vanish, those above come down."""
    (x,), out = to.inputs(node), to.output(node)
    lo, hi = node.attrs["lo"], node.attrs["hi"]
    stream = node.inputs[0]
    inner = [stream.dim(level) for level in range(lo, hi)]
    holds = hi < stream.rank and any(d.may_be_empty for d in inner)
    to.add(node, rewrite, [out, holds, 0, 0, x, lo, hi], reads=[x], writes=[out])
