"""reshape: counts elements or closings, one element per cycle; pads the innermost dim."""

from ....ir.stream import Node
from ..actor import (
    BARE,
    MAX_PAD_ROWS,
    NEVER,
    PORTS,
    READY,
    VALUE,
    acted,
    aux_of,
    bare,
    cols_of,
    done_beat,
    head,
    is_done,
    kind_of,
    low_of,
    make_beat,
    ready,
    room,
    rows_of,
    send,
    step,
    stop_of,
    take,
    tile_word,
    value,
)
from ..program import Program

OUT, FLAGS, IN, CHUNK, SEEN, LAST, STOP, DIM = range(PORTS, PORTS + 8)
FULL = -1
"""Value of `STOP` while no group is being padded."""


@step
def cut(M, a, t):  # type: ignore[no-untyped-def]
    out, flags, x, chunk = M[a + OUT], M[a + FLAGS], M[a + IN], M[a + CHUNK]
    wait = room(M, out, t)
    if wait != READY:
        return wait
    wait = room(M, flags, t)
    if wait != READY:
        return wait
    if M[a + STOP] != FULL:
        M[a + SEEN] += 1
        ends = M[a + SEEN] == chunk
        stop = M[a + STOP] if ends else 0
        tile = M[a + LAST]
        blank = tile_word(rows_of(tile), cols_of(tile), min(rows_of(tile), MAX_PAD_ROWS), 0)
        send(M, a, out, t, value(blank, stop))
        send(M, a, flags, t, value(1, stop))
        if ends:
            M[a + STOP], M[a + SEEN] = FULL, 0
        return acted(M, t)
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    if is_done(beat) and M[a + SEEN]:
        M[a + STOP] = 1
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
    M[a + SEEN] += 1
    M[a + LAST] = aux_of(beat)
    stop = stop_of(beat) + 1 if M[a + SEEN] == chunk else 0
    send(M, a, out, t, value(aux_of(beat), stop))
    send(M, a, flags, t, value(0, stop))
    if M[a + SEEN] == chunk:
        M[a + SEEN] = 0
    elif stop_of(beat):
        M[a + STOP] = stop_of(beat) + 1
    return acted(M, t)


@step
def count(M, a, t):  # type: ignore[no-untyped-def]
    out, x, dim = M[a + OUT], M[a + IN], M[a + DIM]
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
        M[a + SEEN] += 1
        if M[a + SEEN] == M[a + CHUNK]:
            M[a + SEEN] = 0
            stop += 1
    send(M, a, out, t, make_beat(kind, stop, low if kind != VALUE else 0, aux_of(beat)))
    return acted(M, t)


def build(node: Node, to: Program) -> None:
    """Dim 0 has a second output that tells padding; a dim above has none."""
    x = to.input(node, 0)
    outs = to.outputs(node)
    step_of = cut if node.attrs["dim"] == 0 else count
    own = [outs[0], outs[-1], x, node.attrs["chunk"], 0, 0, FULL, node.attrs["dim"]]
    to.add(node, step_of, own, reads=[x], writes=outs)
