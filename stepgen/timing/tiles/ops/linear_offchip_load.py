"""linear_offchip_load: requests the tiles of an affine walk, up to the number in flight."""

from __future__ import annotations

from stepgen.ir.affine import reading
from stepgen.ir.stream import Node
from stepgen.ir.wire import VALUE
from stepgen.timing.kernel import *
from stepgen.timing.tiles import loading
from stepgen.timing.tiles.actor import IDLE, bare, done_beat, fresh, is_done, take, value
from stepgen.timing.tiles.loading import LOADING, asked, fetch
from stepgen.timing.tiles.program import TileProgram

P = record(*LOADING._fields, "ref", "ended", "offset", "levels", "walk")
"""`walk` has extents, then strides, then current indices, each outermost first."""

NO_REF = 0


@helper
def next_tile(M: Memory, a: int) -> tuple[int, int]:
    """Number of the next tile of the walk, and the number of dims that it closes."""
    levels = M[a + P.levels]
    stride, index = a + P.walk + levels, a + P.walk + 2 * levels
    number, stop, carry = M[a + P.offset], 0, 1
    for n in range(levels):
        number += M[index + n] * M[stride + n]
    for m in range(levels):
        n = levels - 1 - m
        M[index + n] += carry
        if carry and M[index + n] == M[a + P.walk + n]:
            M[index + n] = 0
            stop += 1
        else:
            carry = 0
    return number, stop


@step
def load(M: Memory, a: int, t: int) -> int:
    ref, line, levels = M[a + P.ref], M[a + P.line], M[a + P.levels]
    if M[a + P.busy_until] != IDLE:
        wait = asked(M, a, t)
        if wait != READY:
            return wait
    wait = room(M, line, t)
    if wait != READY:
        return wait
    if M[a + P.ended]:
        push(M, line, t, done_beat())
        return NEVER
    mark = value(0, -1)
    if ref != NO_REF:
        wait = ready(M, ref, t)
        if wait != READY:
            return wait
        mark = head(M, ref)
    if kind_of(mark) != VALUE:
        take(M, ref, t)
        if is_done(mark):
            push(M, line, t, mark)
            return NEVER
        push(M, line, t, bare(low_of(mark) + levels, stop_of(mark) + levels))
        return acted(M, t)
    number, stop = next_tile(M, a)
    if stop == levels:
        stop = levels - 1 if ref == NO_REF else levels + stop_of(mark)
        if ref == NO_REF:
            M[a + P.ended] = 1
        else:
            take(M, ref, t)
    wait = fetch(M, a, t, number, stop)
    return acted(M, t) if wait == READY else wait


def build(node: Node, to: TileProgram) -> None:
    """The walk is repeated for each element of a reference stream, or done once."""
    ins = to.inputs(node)
    line, asking = loading.build(node, to)
    shape, stride, offset = reading(node.attrs)
    own = fresh(
        P,
        **asking,
        ref=ins[0] if ins else NO_REF,
        ended=0,
        offset=offset,
        levels=len(shape),
        walk=[*shape, *stride, *[0] * len(shape)],
    )
    actor = to.add(node, load, own, reads=ins, writes=[line], name="request")
    to.order.watch(node, actor + P.accesses)
