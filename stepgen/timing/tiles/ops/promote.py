"""promote: rewrites stops, one element per cycle; a new outermost dim holds one element back."""

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
from ..holding import FIRST, HAS_HELD, OUT, close, put
from ..program import Program

IN, LEVEL, RANK = range(FIRST, FIRST + 3)


@step
def rewrite(M, a, t):  # type: ignore[no-untyped-def]
    x, level = M[a + IN], M[a + LEVEL]
    wait = can_pass(M, x, M[a + OUT], t)
    if wait != READY:
        return wait
    beat = head(M, x)
    stop, low = stop_of(beat), low_of(beat)
    final = is_done(beat)
    if level > M[a + RANK]:
        if final and M[a + HAS_HELD]:
            close(M, a, t, level, level)
            return acted(M, t)
        final = final or stop < M[a + RANK]
    else:
        final = True
        stop += stop >= level and not is_done(beat)
        low += kind_of(beat) == BARE and low > level
    if put(M, a, t, make_beat(kind_of(beat), stop, low, aux_of(beat)), final):
        take(M, x, t)
        if is_done(beat):
            return NEVER
    return acted(M, t)


def build(node: Node, to: Program) -> None:
    """Levels from `level` on rise by one."""
    (x,), out = to.inputs(node), to.output(node)
    level, rank = node.attrs["level"], node.inputs[0].rank
    to.add(node, rewrite, [out, level > rank, 0, 0, x, level, rank], reads=[x], writes=[out])
