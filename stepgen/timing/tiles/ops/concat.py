"""concat: one element per cycle; where the last group may be empty, an element may wait for it."""

from __future__ import annotations

from stepgen.ir.stream import Node
from stepgen.ir.wire import BARE
from stepgen.timing.kernel import *
from stepgen.timing.tiles.actor import fresh, is_done, take
from stepgen.timing.tiles.holding import HOLDING, close, put
from stepgen.timing.tiles.program import TileProgram

P = record(*HOLDING._fields, "dim", "streams", "current", "ins")


@step
def join(M: Memory, a: int, t: int) -> int:
    dim, current = M[a + P.dim], M[a + P.current]
    x, last = M[a + P.ins + current], current == M[a + P.streams] - 1
    wait = can_pass(M, x, M[a + P.out], t)
    if wait != READY:
        return wait
    beat = head(M, x)
    stop, low = stop_of(beat), low_of(beat)
    empty = kind_of(beat) == BARE and low > dim
    if empty and low == dim + 1 and last:
        close(M, a, t, low, stop)
    elif last or not (empty or is_done(beat)):
        sent = stop if last else min(stop, dim)
        final = last or is_done(beat) or stop <= dim
        if not put(M, a, t, make_beat(kind_of(beat), sent, low, aux_of(beat)), final):
            return acted(M, t)
    take(M, x, t)
    if is_done(beat) or stop > dim:
        M[a + P.current] = 0 if last else current + 1
    return NEVER if is_done(beat) and last else acted(M, t)


def build(node: Node, to: TileProgram) -> None:
    """One actor for all inputs, which takes a group of each in turn."""
    ins, out, last, dim = to.inputs(node), to.output(node), node.inputs[-1], node.attrs["dim"]
    own = fresh(
        P,
        out=out,
        holds=last.rank > dim and last.dim(dim).may_be_empty,
        held=0,
        has_held=0,
        dim=dim,
        streams=len(ins),
        current=0,
        ins=ins,
    )
    to.add(node, join, own, reads=ins, writes=[out])
