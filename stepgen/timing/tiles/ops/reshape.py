"""reshape: counts elements or groups, one element per cycle; may pad the innermost dim."""

from __future__ import annotations

from stepgen.ir.stream import Node
from stepgen.ir.wire import BARE, VALUE
from stepgen.timing.kernel import *
from stepgen.timing.tiles.actor import (
    COMMON,
    MAX_PAD_ROWS,
    bare,
    cols_of,
    done_beat,
    fresh,
    is_done,
    rows_of,
    send,
    take,
    tile_word,
    value,
)
from stepgen.timing.tiles.program import TileProgram

P = record(*COMMON._fields, "out", "flags", "x", "chunk", "seen", "last", "stop", "dim")
FULL = -1
"""Value of `stop` while no group is being padded."""
NOTHING = -1
"""Value of `last` while no element is held."""


@step
def cut(M: Memory, a: int, t: int) -> int:
    out, flags, x, chunk = M[a + P.out], M[a + P.flags], M[a + P.x], M[a + P.chunk]
    wait = room(M, out, t)
    if wait != READY:
        return wait
    wait = room(M, flags, t)
    if wait != READY:
        return wait
    if M[a + P.stop] != FULL:
        M[a + P.seen] += 1
        ends = M[a + P.seen] == chunk
        stop = M[a + P.stop] if ends else 0
        tile = M[a + P.last]
        blank = tile_word(rows_of(tile), cols_of(tile), min(rows_of(tile), MAX_PAD_ROWS), 0)
        send(M, a, out, t, value(blank, stop))
        send(M, a, flags, t, value(1, stop))
        if ends:
            M[a + P.stop], M[a + P.seen] = FULL, 0
        return acted(M, t)
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    if is_done(beat) and M[a + P.seen]:
        M[a + P.stop] = 1
        return acted(M, t)
    take(M, x, t)
    if is_done(beat):
        send(M, a, out, t, done_beat())
        send(M, a, flags, t, done_beat())
        return NEVER
    if kind_of(beat) == BARE:
        gap = bare(low_of(beat) + 1, stop_of(beat) + 1)
        send(M, a, out, t, gap)
        send(M, a, flags, t, gap)
        return acted(M, t)
    M[a + P.seen] += 1
    M[a + P.last] = aux_of(beat)
    stop = stop_of(beat) + 1 if M[a + P.seen] == chunk else 0
    send(M, a, out, t, value(aux_of(beat), stop))
    send(M, a, flags, t, value(0, stop))
    if M[a + P.seen] == chunk:
        M[a + P.seen] = 0
    elif stop_of(beat):
        M[a + P.stop] = stop_of(beat) + 1
    return acted(M, t)


@step
def count(M: Memory, a: int, t: int) -> int:
    out, x, dim = M[a + P.out], M[a + P.x], M[a + P.dim]
    wait = room(M, out, t)
    if wait != READY:
        return wait
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = take(M, x, t)
    if is_done(beat):
        send(M, a, out, t, beat)
        return NEVER
    kind, stop, low = kind_of(beat), stop_of(beat), low_of(beat)
    if kind == BARE and low > dim:
        send(M, a, out, t, bare(low + 1, stop + 1))
        return acted(M, t)
    if stop >= dim:
        M[a + P.seen] += 1
        if M[a + P.seen] == M[a + P.chunk]:
            M[a + P.seen] = 0
            stop += 1
    send(M, a, out, t, make_beat(kind, stop, low if kind != VALUE else 0, aux_of(beat)))
    return acted(M, t)


@helper
def capped(M: Memory, a: int, beat: int) -> int:
    """The beat with levels for one more dim; a chunk ends with its group, or when it is full."""
    kind, stop, low = kind_of(beat), stop_of(beat), low_of(beat)
    if is_done(beat):
        return beat
    if kind == BARE:
        return bare(low + 1, stop + 1)
    M[a + P.seen] += 1
    if stop or M[a + P.seen] == M[a + P.chunk]:
        M[a + P.seen] = 0
        stop += 1
    return value(aux_of(beat), stop)


@step
def cap(M: Memory, a: int, t: int) -> int:
    out, x = M[a + P.out], M[a + P.x]
    wait = can_pass(M, x, out, t)
    if wait != READY:
        return wait
    beat = capped(M, a, take(M, x, t))
    send(M, a, out, t, beat)
    return NEVER if is_done(beat) else acted(M, t)


@step
def hold(M: Memory, a: int, t: int) -> int:
    """Without a dim above: what may be the last element leaves when the next beat has come."""
    out, x, held = M[a + P.out], M[a + P.x], M[a + P.last]
    seen = ready(M, x, t)
    if held == NOTHING:
        if seen != READY:
            return seen
        M[a + P.last] = capped(M, a, take(M, x, t))
        return acted(M, t)
    if kind_of(held) == VALUE and stop_of(held) == 0:
        if seen != READY:
            return seen
        if is_done(head(M, x)):
            held = value(aux_of(held), 1)
    wait = room(M, out, t)
    if wait != READY:
        return wait
    send(M, a, out, t, held)
    if is_done(held):
        return NEVER
    M[a + P.last] = capped(M, a, take(M, x, t)) if seen == READY else NOTHING
    return acted(M, t)


def build(node: Node, to: TileProgram) -> None:
    """For dim 0 with padding there is a second output, its flags."""
    x = to.input(node, 0)
    outs = to.outputs(node)
    dim = node.attrs["dim"]
    step_of = cut if dim == 0 else count
    if node.attrs["pad"] is None:
        step_of = cap if node.inputs[0].rank else hold
    own = fresh(
        P,
        out=outs[0],
        flags=outs[-1],
        x=x,
        chunk=node.attrs["chunk"],
        seen=0,
        last=NOTHING,
        stop=FULL,
        dim=dim,
    )
    to.add(node, step_of, own, reads=[x], writes=outs)
