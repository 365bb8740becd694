"""streamify: reads a buffer, one element per cycle; pops the reference after the last reading."""

from __future__ import annotations

from stepgen.ir.dtypes import Buffer
from stepgen.ir.stream import Node
from stepgen.ir.wire import BARE, VALUE
from stepgen.timing.kernel import *
from stepgen.timing.tiles.actor import COMMON, bare, fresh, is_done, send, take, value
from stepgen.timing.tiles.buffers import BUFFER, ELEMENT, release
from stepgen.timing.tiles.program import TileProgram

P = record(
    *COMMON._fields,
    "out",
    "x",
    "ref",
    "rank",
    "levels",
    "times",
    "passes",
    "at",
    "affine",
    "step_number",
    "walk",
)
"""`walk`, for an affine reading: its number of tiles, then number and stop of each."""
NO_REF = 0


@helper
def read(M: Memory, a: int, t: int, buffer: int, close: int) -> bool:
    """Emit the next element; the last one closes `close` dims; returns whether it was the last."""
    out = M[a + P.out]
    if M[a + P.affine]:
        i = M[a + P.step_number]
        number, stop = M[a + P.walk + 1 + 2 * i], M[a + P.walk + 2 + 2 * i]
        at = M[buffer + BUFFER.start]
        for _ in range(number):
            at = M[at + ELEMENT.after]
        last = i + 1 == M[a + P.walk]
        send(M, a, out, t, value(aux_of(M[at + ELEMENT.beat]), close if last else stop))
        M[a + P.step_number] = 0 if last else i + 1
        return last
    at = M[a + P.at] if M[a + P.at] else M[buffer + BUFFER.start]
    beat = M[at + ELEMENT.beat]
    M[a + P.at] = M[at + ELEMENT.after]
    last = M[a + P.at] == 0
    stop = close if last else stop_of(beat)
    send(M, a, out, t, make_beat(kind_of(beat), stop, low_of(beat), aux_of(beat)))
    return last


@step
def count(M: Memory, a: int, t: int) -> int:
    x, out, levels = M[a + P.x], M[a + P.out], M[a + P.levels]
    wait = can_pass(M, x, out, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    above = int(M[a + P.times] > 0)
    if is_done(beat):
        send(M, a, out, t, take(M, x, t))
        return NEVER
    if kind_of(beat) == BARE:
        take(M, x, t)
        send(M, a, out, t, bare(low_of(beat) + levels + above, stop_of(beat) + levels + above))
        return acted(M, t)
    final = M[a + P.passes] + 1 >= M[a + P.times]
    close = levels + above + stop_of(beat) if final else levels
    if read(M, a, t, aux_of(beat), close):
        M[a + P.passes] += 1
        if final:
            M[a + P.passes] = 0
            release(M, aux_of(beat))
            take(M, x, t)
    return acted(M, t)


@step
def follow(M: Memory, a: int, t: int) -> int:
    x, ref, out, levels, rank = (
        M[a + P.x],
        M[a + P.ref],
        M[a + P.out],
        M[a + P.levels],
        M[a + P.rank],
    )
    wait = ready(M, ref, t)
    if wait != READY:
        return wait
    wait = can_pass(M, x, out, t)
    if wait != READY:
        return wait
    mark, item = head(M, ref), head(M, x)
    if is_done(mark) or (kind_of(mark) == BARE and low_of(mark) > rank):
        take(M, x, t)
        take(M, ref, t)
        if is_done(mark):
            send(M, a, out, t, mark)
            return NEVER
        send(M, a, out, t, bare(low_of(mark) + levels, stop_of(mark) + levels))
        return acted(M, t)
    if kind_of(mark) == BARE:
        send(M, a, out, t, bare(low_of(mark) + levels, stop_of(mark) + levels))
    elif kind_of(item) == VALUE and not read(M, a, t, aux_of(item), levels + stop_of(mark)):
        return acted(M, t)
    take(M, ref, t)
    if kind_of(item) != VALUE or stop_of(mark) >= rank:
        if kind_of(item) == VALUE:
            release(M, aux_of(item))
        take(M, x, t)
    return acted(M, t)


def build(node: Node, to: TileProgram) -> None:
    """A buffer is freed after its last reading, unless another consumer still has it."""
    ins, out = to.inputs(node), to.output(node)
    walk = to.walk(node)
    shape = node.attrs["shape"]
    buffer = node.inputs[0].dtype
    assert isinstance(buffer, Buffer)
    levels = len(buffer.shape if shape is None else shape)
    counted = len(ins) == 1
    rank = 0 if counted else node.inputs[1].rank - node.inputs[0].rank
    times = node.attrs["count"] or 0
    own = fresh(
        P,
        out=out,
        x=ins[0],
        ref=NO_REF if counted else ins[1],
        rank=rank,
        levels=levels,
        times=times,
        passes=0,
        at=0,
        affine=bool(walk),
        step_number=0,
        walk=walk,
    )
    to.add(node, count if counted else follow, own, reads=ins, writes=[out])
