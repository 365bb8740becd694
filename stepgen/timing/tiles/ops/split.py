"""split: one element per cycle; the last one of a part may wait for the end of the group."""

from __future__ import annotations

from stepgen.ir.stream import Node
from stepgen.ir.wire import BARE
from stepgen.timing.kernel import *
from stepgen.timing.tiles import buffers
from stepgen.timing.tiles.actor import COMMON, fresh, is_done, send, take
from stepgen.timing.tiles.program import TileProgram

# `sizes`, `held` and `refer` are the addresses of a word per output; `refer`: whether a buffer is
# kept for its references
P = record(
    *COMMON._fields,
    *("x", "dim", "inside", "holds", "refers", "count", "sizes", "held", "refer", "part", "chunk"),
    "outs",
)


@step
def deal(M: Memory, a: int, t: int) -> int:
    x, dim, count, outs = M[a + P.x], M[a + P.dim], M[a + P.count], a + P.outs
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat, part = head(M, x), M[a + P.part]
    above = is_done(beat) or (kind_of(beat) == BARE and low_of(beat) > dim + 1)
    stop = stop_of(beat)
    ends_part = stop >= dim and M[a + P.chunk] == M[M[a + P.sizes] + part] - 1
    ends_group = ends_part and part == count - 1
    for n in range(count):
        if above or n == part or (ends_group and M[a + P.holds]):
            wait = room(M, M[outs + n], t)
            if wait != READY:
                return wait
    take(M, x, t)
    if above:
        for n in range(count):
            send(M, a, M[outs + n], t, beat)
        return NEVER if is_done(beat) else acted(M, t)
    if M[a + P.refers]:
        buffers.share(M, beat, M[M[a + P.refer] + part])
    if ends_part and M[a + P.holds] and not ends_group:
        M[M[a + P.held] + part] = beat
    elif ends_part and M[a + P.inside] and not ends_group:
        last = make_beat(kind_of(beat), dim + 1, low_of(beat), aux_of(beat))
        send(M, a, M[outs + part], t, last)
    else:
        send(M, a, M[outs + part], t, beat)
    if ends_group and M[a + P.holds]:
        for n in range(count - 1):
            held = M[M[a + P.held] + n]
            last = make_beat(kind_of(held), stop, low_of(held), aux_of(held))
            send(M, a, M[outs + n], t, last)
    if ends_part:
        M[a + P.part] = 0 if ends_group else part + 1
        M[a + P.chunk] = 0
    elif stop >= dim:
        M[a + P.chunk] += 1
    return acted(M, t)


def build(node: Node, to: TileProgram) -> None:
    """One actor for all outputs, of which the slowest stalls the others."""
    x, outs = to.input(node, 0), to.outputs(node)
    refer = [int(to.refers(s)) for s in node.outputs]
    own = fresh(
        P,
        x=x,
        dim=node.attrs["dim"],
        inside=node.inputs[0].rank > node.attrs["dim"],
        holds=node.inputs[0].rank > node.attrs["dim"] + 1,
        refers=any(refer),
        count=len(outs),
        sizes=to.reserve(node.attrs["sizes"]),
        held=to.reserve([0] * len(outs)),
        refer=to.reserve(refer),
        part=0,
        chunk=0,
        outs=outs,
    )
    to.add(node, deal, own, reads=[x], writes=outs)
