"""linear_offchip_load: asks for the tiles of an affine walk one by one, while places are free."""

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
    bare,
    done_beat,
    head,
    helper,
    is_done,
    kind_of,
    low_of,
    ready,
    room,
    step,
    stop_of,
    take,
    value,
)
from ..loading import FIRST, LINE, asked, fetch
from ..program import Program

REF, ENDED, LEVELS, WALK = range(FIRST, FIRST + 4)
"""Extents, then strides, then the indices of the walk, outermost first."""

NO_REF = 0


@helper
def next_tile(M, a):  # type: ignore[no-untyped-def]
    """Number of the next tile of the walk, and how many of its dims close with it."""
    levels = M[a + LEVELS]
    stride, index = a + WALK + levels, a + WALK + 2 * levels
    number, stop, carry = 0, 0, 1
    for n in range(levels):
        number += M[index + n] * M[stride + n]
    for m in range(levels):
        n = levels - 1 - m
        M[index + n] += carry
        if carry and M[index + n] == M[a + WALK + n]:
            M[index + n] = 0
            stop += 1
        else:
            carry = 0
    return number, stop


@step
def load(M, a, t):  # type: ignore[no-untyped-def]
    ref, line, levels = M[a + REF], M[a + LINE], M[a + LEVELS]
    if M[a + BUSY_UNTIL] != IDLE:
        wait = asked(M, a, t)
        if wait != READY:
            return wait
    wait = room(M, line, t)
    if wait != READY:
        return wait
    if M[a + ENDED]:
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
            M[a + ENDED] = 1
        else:
            take(M, ref, t)
    wait = fetch(M, a, t, number, stop)
    return acted(M, t) if wait == READY else wait


def build(node: Node, to: Program) -> None:
    """Triggered by each element of a reference stream, or once."""
    ins = to.inputs(node)
    line, own = loading.build(node, to)
    shape, stride = node.attrs["shape"], node.attrs["stride"]
    own += [ins[0] if ins else NO_REF, 0, len(shape), *shape, *stride, *[0] * len(shape)]
    to.add(node, load, own, reads=ins, writes=[line], name="asks")
