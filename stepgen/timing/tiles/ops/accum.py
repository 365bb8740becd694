"""accum: folds one element at a time; lets go of it before it passes the result on."""

from ....ir.stream import Node
from .. import costs, operands
from ..actor import (
    BARE,
    BUSY_UNTIL,
    FAULT,
    IDLE,
    MAX_EXTENT,
    MAX_PAD_COLS,
    MAX_PAD_ROWS,
    NEVER,
    PADDED,
    PORTS,
    READY,
    USEFUL,
    VALUE,
    acted,
    area,
    bare,
    cols_of,
    done_beat,
    head,
    helper,
    hold,
    is_done,
    kind_of,
    later,
    low_of,
    moved,
    pad_cols_of,
    pad_rows_of,
    ready,
    room,
    rows_of,
    send_until,
    step,
    stop_of,
    take,
    tile_word,
    value,
)
from ..program import Program

OUT, COST, RANK, UPDATE, EMPTY, STATE, FOLDED, STATE_BYTES, PENDING, NEXT_BEAT = range(
    PORTS, PORTS + 10
)
EVERY, OPERANDS, ARITY, MOVED_AT, COUNT, INS = range(PORTS + 10, PORTS + 16)

REPLACE, ROWS, COLS, NUMBER = range(4)
"""What folding does to the state: it has the extents of every result, grows, or counts."""


@helper
def operand(M, a, n):  # type: ignore[no-untyped-def]
    """What operand `n` carries, 0 where there is none."""
    return operands.operand(M, M[a + OPERANDS], M[a + ARITY], n)


@helper
def folded(M, a):  # type: ignore[no-untyped-def]
    """The state after the elements at the heads."""
    x, y = operand(M, a, 0), operand(M, a, 1)
    state, update, fresh = M[a + STATE], M[a + UPDATE], M[a + FOLDED] == 0
    if update == NUMBER:
        return 1 if fresh else state + 1
    made = costs.result(M, M[a + COST], x, y, 0)
    if update == REPLACE or fresh:
        return made
    if update == ROWS:
        rows, pads = rows_of(state) + rows_of(made), pad_rows_of(state) + pad_rows_of(made)
        return tile_word(rows, cols_of(made), pads, pad_cols_of(made))
    cols, pads = cols_of(state) + cols_of(made), pad_cols_of(state) + pad_cols_of(made)
    return tile_word(rows_of(made), cols, pad_rows_of(made), pads)


@helper
def outgrows(M, a):  # type: ignore[no-untyped-def]
    """Whether a tile that grows has become larger than a word can tell."""
    x, state, update = operand(M, a, 0), M[a + STATE], M[a + UPDATE]
    if update == ROWS:
        pads = pad_rows_of(state) + pad_rows_of(x)
        return rows_of(state) + rows_of(x) > MAX_EXTENT or pads > MAX_PAD_ROWS
    if update == COLS:
        pads = pad_cols_of(state) + pad_cols_of(x)
        return cols_of(state) + cols_of(x) > MAX_EXTENT or pads > MAX_PAD_COLS
    return False


@helper
def begin(M, a, t):  # type: ignore[no-untyped-def]
    """Start on the next element if all operands are there; how to wait otherwise."""
    for n in range(M[a + COUNT]):
        wait = ready(M, M[a + INS + n], t)
        if wait != READY:
            return wait
    beat, duration = head(M, M[a + INS]), 0
    if kind_of(beat) == VALUE:
        w = M[a + COST]
        x, y = operand(M, a, 0), operand(M, a, 1)
        if M[a + UPDATE] == NUMBER:
            duration = M[w + costs.FIXED]
        else:
            stored = 0
            if stop_of(beat) >= M[a + RANK] or M[a + EVERY]:
                stored = M[w + costs.STORED]
                if stored < 0:
                    stored = area(folded(M, a))
            total, useful = costs.flops(M, w, x, y)
            M[a + USEFUL] += useful
            M[a + PADDED] += total - useful
            duration = costs.cycles(M, w, total, area(x), area(y), 0, stored)
    M[a + BUSY_UNTIL] = t + duration
    return later(M, t, t + duration)


@helper
def _keep(M, a, state):  # type: ignore[no-untyped-def]
    if M[a + UPDATE] != NUMBER:
        hold(M, M[a + STATE_BYTES] * (area(state) - area(M[a + STATE])))
    M[a + STATE] = state


@step
def fold(M, a, t):  # type: ignore[no-untyped-def]
    if not M[a + PENDING]:
        if M[a + BUSY_UNTIL] == IDLE:
            wait = begin(M, a, t)
            if M[a + BUSY_UNTIL] == IDLE:
                return wait
        if t < M[a + BUSY_UNTIL]:
            return later(M, t, M[a + BUSY_UNTIL])
        beat, rank = head(M, M[a + INS]), M[a + RANK]
        kind = kind_of(beat)
        if kind == VALUE and outgrows(M, a):
            M[FAULT] = a
            return NEVER
        if kind == VALUE:
            _keep(M, a, folded(M, a))
            M[a + FOLDED] += 1
        M[a + MOVED_AT] = moved(M, M[a + INS], t)
        for n in range(M[a + COUNT]):
            take(M, M[a + INS + n], t)
        M[a + BUSY_UNTIL] = IDLE
        ends = stop_of(beat) >= rank
        if is_done(beat):
            M[a + PENDING], M[a + NEXT_BEAT] = 1, done_beat()
        elif M[a + EVERY]:
            M[a + PENDING] = 1
            M[a + NEXT_BEAT] = value(M[a + STATE], stop_of(beat)) if kind == VALUE else beat
        elif kind == BARE and low_of(beat) > rank:
            M[a + PENDING], M[a + NEXT_BEAT] = 1, bare(low_of(beat) - rank, stop_of(beat) - rank)
            ends = False
        elif ends:
            made = M[a + STATE] if M[a + FOLDED] else M[a + EMPTY]
            M[a + PENDING], M[a + NEXT_BEAT] = 1, value(made, stop_of(beat) - rank)
        if ends:
            M[a + FOLDED] = 0
    if M[a + PENDING]:
        wait = room(M, M[a + OUT], t)
        if wait != READY:
            return wait
        send_until(M, a, M[a + OUT], t, M[a + NEXT_BEAT], M[a + MOVED_AT])
        M[a + PENDING] = 0
        if M[a + FOLDED] == 0:
            _keep(M, a, 0)
        if is_done(M[a + NEXT_BEAT]):
            return NEVER
    begin(M, a, t)
    return acted(M, t) if M[a + BUSY_UNTIL] == IDLE else later(M, t, M[a + BUSY_UNTIL])


UPDATES = {"retile_row": ROWS, "retile_col": COLS, "count": NUMBER}


def build(node: Node, to: Program, *, every: bool = False) -> None:
    """An accumulator; a Scan passes `every` state on."""
    ins, out = to.inputs(node), to.output(node)
    update = UPDATES.get(node.attrs["fn"].name, REPLACE)
    empty = 0 if update == NUMBER else to.static_tile(node.outputs[0])
    cost = to.cost(node, to.stored(node))
    size = to.element_bytes(node.outputs[0])
    own = [out, cost, node.attrs["rank"], update, empty, 0, 0, size, 0, 0, every]
    own += [*operands.build(node, to), 0, len(ins), *ins]
    to.explain_growth(node, to.add(node, fold, own, reads=ins, writes=[out]))
