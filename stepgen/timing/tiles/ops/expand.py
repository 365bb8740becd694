"""expand: repeats elements by a reference or a count, one per cycle."""

from __future__ import annotations

from stepgen.ir.stream import Node
from stepgen.ir.wire import BARE, VALUE
from stepgen.timing.kernel import *
from stepgen.timing.tiles.actor import COMMON, fresh, is_done, send, take, value
from stepgen.timing.tiles.buffers import share
from stepgen.timing.tiles.program import TileProgram

# `refers`: whether elements are references to buffers that are kept for them
P = record(*COMMON._fields, "out", "x", "ref", "rank", "copies", "made", "refers")


@step
def repeat(M: Memory, a: int, t: int) -> int:
    x, out = M[a + P.x], M[a + P.out]
    wait = can_pass(M, x, out, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    if M[a + P.refers] and M[a + P.made] == 0:
        share(M, beat, M[a + P.copies])
    if kind_of(beat) == VALUE and M[a + P.made] + 1 < M[a + P.copies]:
        M[a + P.made] += 1
        send(M, a, out, t, value(aux_of(beat), 0))
        return acted(M, t)
    M[a + P.made] = 0
    send(M, a, out, t, beat)
    take(M, x, t)
    return NEVER if is_done(beat) else acted(M, t)


@step
def follow(M: Memory, a: int, t: int) -> int:
    x, ref, out, rank = M[a + P.x], M[a + P.ref], M[a + P.out], M[a + P.rank]
    wait = ready(M, ref, t)
    if wait != READY:
        return wait
    wait = can_pass(M, x, out, t)
    if wait != READY:
        return wait
    mark, item = head(M, ref), head(M, x)
    if is_done(mark) or (kind_of(mark) == BARE and low_of(mark) > rank):
        send(M, a, out, t, item)
        take(M, x, t)
        take(M, ref, t)
        return NEVER if is_done(mark) else acted(M, t)
    take(M, ref, t)
    if M[a + P.refers]:
        # Each copy but a last one leaves the reference itself to those that may follow.
        share(M, item, (kind_of(mark) == VALUE) + (stop_of(mark) < rank))
    if kind_of(mark) == BARE:
        send(M, a, out, t, mark)
    elif kind_of(item) == VALUE:
        send(M, a, out, t, value(aux_of(item), stop_of(mark)))
    if kind_of(item) != VALUE or stop_of(mark) >= rank:
        take(M, x, t)
    return acted(M, t)


def build(node: Node, to: TileProgram) -> None:
    """The element stays at the head of its FIFO until it has been sent for the last time."""
    ins, out = to.inputs(node), to.output(node)
    counted = len(ins) == 1
    rank, copies = (0, node.attrs["count"]) if counted else (node.attrs["rank"], 0)
    refers = to.refers(node.outputs[0])
    own = fresh(P, out=out, x=ins[0], ref=ins[-1], rank=rank, copies=copies, made=0, refers=refers)
    to.add(node, repeat if counted else follow, own, reads=ins, writes=[out])
