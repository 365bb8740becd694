"""The actor of a PMU that stores chunks in free pages."""

from __future__ import annotations

from ..hw.design.registers import NUMBER_BITS
from ..ir.wire import BARE, DONE, VALUE
from .kernel import (
    NEVER,
    READY,
    Memory,
    acted,
    fault,
    head,
    helper,
    kind_of,
    low_of,
    make_beat,
    pop,
    push,
    ready,
    record,
    room,
    step,
    stop_of,
)
from .shares import MISSING, NONE

MEMORY = ("words", "table", "page")
"""Where pages and table are, and the words of a page."""
S = record(
    *MEMORY,
    *("x", "made", "free", "opened", "level", "pages", "fresh", "first", "current", "offset"),
    *("most", "row", "rows", "over", "limit"),
)
BETWEEN_ROWS, IN_ROW, CLOSED = 1, 2, 3
"""Where in a chunk with too many rows `store` is; 0 in others."""
MOST_TOLD = (1 << NUMBER_BITS) - 1


@helper
def last_word(word: int) -> int:
    """The table entry of a page that is the last of its chunk; others name the next page."""
    return -1 - word


@helper
def ends_row(M: Memory, a: int, beat: int) -> bool:
    """Whether a row ends with a beat; an empty group counts as one."""
    return kind_of(beat) == BARE or stop_of(beat) >= M[a + S.row]


@helper
def swallow(M: Memory, a: int, t: int) -> int:
    """Take what is left of a chunk that has too many rows, and count these."""
    x, over = M[a + S.x], M[a + S.over]
    if over == CLOSED:
        return NEVER
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = pop(M, x, t)
    if over == BETWEEN_ROWS and M[a + S.rows] < M[a + S.limit]:
        M[a + S.rows] += 1
    M[a + S.over] = BETWEEN_ROWS if ends_row(M, a, beat) else IN_ROW
    fault(M, a, t, M[a + S.rows] if M[a + S.rows] < M[a + S.limit] else MOST_TOLD)
    if stop_of(beat) >= M[a + S.level]:
        M[a + S.over] = CLOSED
    return acted(M, t)


@step
def store(M: Memory, a: int, t: int) -> int:
    if M[a + S.over]:
        return swallow(M, a, t)
    x, made, level, free = M[a + S.x], M[a + S.made], M[a + S.level], M[a + S.free]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    kind, stop, low = kind_of(beat), stop_of(beat), low_of(beat)
    outer = kind == DONE or (kind == BARE and low > level)
    if outer or stop >= level:
        wait = room(M, made, t)
        if wait != READY:
            return wait
    if outer:
        pop(M, x, t)
        if kind == BARE:
            beat = make_beat(BARE, stop - level, low - level, 0)
        elif M[a + S.opened] != MISSING:
            push(M, M[a + S.opened], t, beat)
        push(M, made, t, beat)
        return acted(M, t)

    opens = M[a + S.current] == NONE
    row_ends = M[a + S.most] > 0 and ends_row(M, a, beat)
    fills = row_ends and stop < level and M[a + S.rows] == M[a + S.most] - 1
    crosses = stop < level and not fills and M[a + S.offset] == M[a + S.page] - 1
    page = NONE
    if opens or crosses:
        if M[a + S.fresh] < M[a + S.pages]:
            page = M[a + S.fresh]
            M[a + S.fresh] += 1
        elif free == MISSING:
            return NEVER
        else:
            wait = ready(M, free, t)
            if wait != READY:
                return wait
            page = pop(M, free, t)
    if opens:
        M[a + S.first] = M[a + S.current] = page
    pop(M, x, t)
    current, offset = M[a + S.current], M[a + S.offset]
    M[M[a + S.words] + current * M[a + S.page] + offset] = beat
    M[a + S.offset] += 1
    if stop >= level:
        M[M[a + S.table] + current] = last_word(offset)
        made_of = make_beat(VALUE, stop - level, 0, M[a + S.first])
        push(M, made, t, made_of)
        if M[a + S.opened] != MISSING:
            push(M, M[a + S.opened], t, made_of)
        M[a + S.current], M[a + S.offset] = NONE, 0
        M[a + S.rows] = 0
        return acted(M, t)
    M[a + S.rows] += row_ends
    if fills:
        M[a + S.over] = BETWEEN_ROWS
    if crosses:
        M[M[a + S.table] + current] = page
        M[a + S.current], M[a + S.offset] = page, 0
    return acted(M, t)
