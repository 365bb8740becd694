"""accum: folds one element at a time; pops it before the result is sent."""

from __future__ import annotations

from stepgen.ir.stream import Node
from stepgen.ir.wire import BARE, VALUE
from stepgen.timing.kernel import *
from stepgen.timing.kernel import FAULT
from stepgen.timing.tiles import costs, operands
from stepgen.timing.tiles.actor import (
    COMMON,
    IDLE,
    MAX_EXTENT,
    MAX_PAD_COLS,
    MAX_PAD_ROWS,
    area,
    bare,
    cols_of,
    done_beat,
    fresh,
    hold,
    is_done,
    later,
    moved,
    pad_cols_of,
    pad_rows_of,
    rows_of,
    send_until,
    take,
    tile_word,
    value,
)
from stepgen.timing.tiles.program import TileProgram

P = record(
    *COMMON._fields,
    "out",
    "cost",
    "rank",
    "update",
    "empty",
    "state",
    "folded",
    "state_bytes",
    "pending",
    "next_beat",
    "every",
    "operands",
    "arity",
    "moved_at",
    "count",
    "ins",
)
REPLACE, ROWS, COLS, NUMBER = range(4)
"""Effect of an element on the state: it replaces it, grows it by rows or columns, or counts."""


@helper
def operand(M: Memory, a: int, n: int) -> int:
    """Operand `n`, 0 for none."""
    return operands.operand(M, M[a + P.operands], M[a + P.arity], n)


@helper
def folded(M: Memory, a: int) -> int:
    """The state after the elements at the heads."""
    x, y = operand(M, a, 0), operand(M, a, 1)
    state, update, first = M[a + P.state], M[a + P.update], M[a + P.folded] == 0
    if update == NUMBER:
        return 1 if first else state + 1
    made = costs.result(M, M[a + P.cost], x, y, 0)
    if update == REPLACE or first:
        return made
    if update == ROWS:
        rows, pads = rows_of(state) + rows_of(made), pad_rows_of(state) + pad_rows_of(made)
        return tile_word(rows, cols_of(made), pads, pad_cols_of(made))
    cols, pads = cols_of(state) + cols_of(made), pad_cols_of(state) + pad_cols_of(made)
    return tile_word(rows_of(made), cols, pad_rows_of(made), pads)


@helper
def outgrows(M: Memory, a: int) -> bool:
    """Whether a growing tile exceeds what a word can encode."""
    x, state, update = operand(M, a, 0), M[a + P.state], M[a + P.update]
    if update == ROWS:
        pads = pad_rows_of(state) + pad_rows_of(x)
        return rows_of(state) + rows_of(x) > MAX_EXTENT or pads > MAX_PAD_ROWS
    if update == COLS:
        pads = pad_cols_of(state) + pad_cols_of(x)
        return cols_of(state) + cols_of(x) > MAX_EXTENT or pads > MAX_PAD_COLS
    return False


@helper
def begin(M: Memory, a: int, t: int) -> int:
    """Start on the next element if all operands are there; else what to wait for."""
    wait = all_ready(M, a + P.ins, M[a + P.count], t)
    if wait != READY:
        return wait
    beat, duration = head(M, M[a + P.ins]), 0
    if kind_of(beat) == VALUE:
        w = M[a + P.cost]
        x, y = operand(M, a, 0), operand(M, a, 1)
        if M[a + P.update] == NUMBER:
            duration = M[w + costs.COST.fixed]
        else:
            stored = 0
            if stop_of(beat) >= M[a + P.rank] or M[a + P.every]:
                stored = M[w + costs.COST.stored]
                if stored < 0:
                    stored = area(folded(M, a))
            total, useful = costs.flops(M, w, x, y, 0)
            M[a + P.useful] += useful
            M[a + P.padding] += total - useful
            duration = costs.cycles(M, w, total, area(x), area(y), 0, stored)
    M[a + P.busy_until] = t + duration
    return later(M, t, t + duration)


@helper
def _keep(M: Memory, a: int, state: int) -> None:
    """Set the state, and count its bytes on chip."""
    if M[a + P.update] != NUMBER:
        hold(M, M[a + P.state_bytes] * (area(state) - area(M[a + P.state])))
    M[a + P.state] = state


@step
def fold(M: Memory, a: int, t: int) -> int:
    if not M[a + P.pending]:
        if M[a + P.busy_until] == IDLE:
            wait = begin(M, a, t)
            if M[a + P.busy_until] == IDLE:
                return wait
        if t < M[a + P.busy_until]:
            return later(M, t, M[a + P.busy_until])
        beat, rank = head(M, M[a + P.ins]), M[a + P.rank]
        kind = kind_of(beat)
        if kind == VALUE and outgrows(M, a):
            M[FAULT] = a
            return NEVER
        if kind == VALUE:
            _keep(M, a, folded(M, a))
            M[a + P.folded] += 1
        M[a + P.moved_at] = moved(M, M[a + P.ins], t)
        for n in range(M[a + P.count]):
            take(M, M[a + P.ins + n], t)
        M[a + P.busy_until] = IDLE
        ends = stop_of(beat) >= rank
        if is_done(beat):
            M[a + P.pending], M[a + P.next_beat] = 1, done_beat()
        elif M[a + P.every]:
            M[a + P.pending] = 1
            M[a + P.next_beat] = value(M[a + P.state], stop_of(beat)) if kind == VALUE else beat
        elif kind == BARE and low_of(beat) > rank:
            M[a + P.pending], M[a + P.next_beat] = (
                1,
                bare(low_of(beat) - rank, stop_of(beat) - rank),
            )
            ends = False
        elif ends:
            made = M[a + P.state] if M[a + P.folded] else M[a + P.empty]
            M[a + P.pending], M[a + P.next_beat] = 1, value(made, stop_of(beat) - rank)
        if ends:
            M[a + P.folded] = 0
    if M[a + P.pending]:
        wait = room(M, M[a + P.out], t)
        if wait != READY:
            return wait
        send_until(M, a, M[a + P.out], t, M[a + P.next_beat], M[a + P.moved_at])
        M[a + P.pending] = 0
        if M[a + P.folded] == 0:
            _keep(M, a, 0)
        if is_done(M[a + P.next_beat]):
            return NEVER
    begin(M, a, t)
    return acted(M, t) if M[a + P.busy_until] == IDLE else later(M, t, M[a + P.busy_until])


UPDATES = {"rows": ROWS, "cols": COLS, None: REPLACE}
"""By the extent that grows with every element."""


def build(node: Node, to: TileProgram, *, every: bool = False) -> None:
    """An accumulator; with `every` it sends each state, as in Scan."""
    ins, out = to.inputs(node), to.output(node)
    function = node.attrs["fn"]
    update = NUMBER if function.structural else UPDATES[function.grows]
    empty = 0 if update == NUMBER else to.static_tile(node.outputs[0])
    cost = to.cost(node, to.stored(node))
    size = to.element_bytes(node.outputs[0])
    first, arity = operands.build(node, to)
    own = fresh(
        P,
        out=out,
        cost=cost,
        rank=node.attrs["rank"],
        update=update,
        empty=empty,
        state=0,
        folded=0,
        state_bytes=size,
        pending=0,
        next_beat=0,
        every=every,
        operands=first,
        arity=arity,
        moved_at=0,
        count=len(ins),
        ins=ins,
    )
    to.explain_growth(node, to.add(node, fold, own, reads=ins, writes=[out]))
