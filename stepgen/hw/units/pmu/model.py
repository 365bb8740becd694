"""Cycle model of a PMU: one actor stores chunks in free pages, others read them by reference."""

from __future__ import annotations

from ....ir.wire import BARE, DONE, VALUE
from ....timing.design_layout import DesignLayout
from ....timing.elements import E, reduce
from ....timing.kernel import (
    NEVER,
    READY,
    Memory,
    acted,
    aux_of,
    can_pass,
    head,
    helper,
    kind_of,
    low_of,
    make_beat,
    packed,
    pop,
    push,
    ready,
    record,
    room,
    step,
    stop_of,
)
from ...design.table import Unit
from .params import Pmu

MEMORY = ("words", "table", "page")
"""Where pages and table are, and the words of a page."""
S = record(*MEMORY, "x", "made", "free", "level", "pages", "fresh", "first", "current", "offset")
F = record("read", "starts")
R = record(
    *MEMORY,
    *("starts", "ref", "y", "free", "levels", "above", "inner", "count", "fixed"),
    *("current", "offset", "passes", "tile", "number", "walk"),
)

NONE = -1
"""No page: no chunk is open, or no word of it was read in this pass."""


@helper
def last_word(word: int) -> int:
    """The table entry of a page that is the last of its chunk; others name the next page."""
    return -1 - word


@step
def store(M: Memory, a: int, t: int) -> int:
    x, made, level = M[a + S.x], M[a + S.made], M[a + S.level]
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
        push(M, made, t, beat)
        return acted(M, t)

    opens = M[a + S.current] == NONE
    crosses = stop < level and M[a + S.offset] == M[a + S.page] - 1
    page = NONE
    if opens or crosses:
        if M[a + S.fresh] < M[a + S.pages]:
            page = M[a + S.fresh]
            M[a + S.fresh] += 1
        else:
            wait = ready(M, M[a + S.free], t)
            if wait != READY:
                return wait
            page = pop(M, M[a + S.free], t)
    if opens:
        M[a + S.first] = M[a + S.current] = page
    pop(M, x, t)
    current, offset = M[a + S.current], M[a + S.offset]
    M[M[a + S.words] + current * M[a + S.page] + offset] = beat
    M[a + S.offset] += 1
    if stop >= level:
        M[M[a + S.table] + current] = last_word(offset)
        push(M, made, t, make_beat(VALUE, stop - level, 0, M[a + S.first]))
        M[a + S.current], M[a + S.offset] = NONE, 0
    elif crosses:
        M[M[a + S.table] + current] = page
        M[a + S.current], M[a + S.offset] = page, 0
    return acted(M, t)


@step
def fetch(M: Memory, a: int, t: int) -> int:
    read, starts = M[a + F.read], M[a + F.starts]
    wait = can_pass(M, read, starts, t)
    if wait != READY:
        return wait
    push(M, starts, t, pop(M, read, t))
    return acted(M, t)


@helper
def pass_on(M: Memory, a: int, t: int, beat: int) -> None:
    """Send what is no chunk: an empty group of references, or the end."""
    by = M[a + R.levels] + M[a + R.above]
    if kind_of(beat) == BARE:
        beat = make_beat(BARE, stop_of(beat) + by, low_of(beat) + by, 0)
    push(M, M[a + R.y], t, beat)
    pop(M, M[a + R.starts], t)


@helper
def leave(M: Memory, a: int, t: int, page: int, closes: bool, final: bool) -> None:
    """Go on behind the last word of a page, which is free after the last pass."""
    follower = M[M[a + R.table] + page]
    if final:
        push(M, M[a + R.free], t, page)
    M[a + R.offset], M[a + R.current] = 0, NONE if closes else follower
    if closes and final:
        pop(M, M[a + R.starts], t)


@helper
def send(M: Memory, a: int, t: int, close: int, final: bool) -> bool:
    """Send the word at hand; returns whether the reading ends, then with the stop `close`."""
    page, offset = M[a + R.current], M[a + R.offset]
    if page == NONE:
        page = aux_of(head(M, M[a + R.starts]))
    place, tiles = offset, M[a + R.walk]
    if tiles:
        place += M[a + R.walk + 1 + 2 * M[a + R.number]]
    beat = M[M[a + R.words] + page * M[a + R.page] + place]
    stop = stop_of(beat)
    entry = M[M[a + R.table] + page]
    closes = entry == last_word(offset)
    ends = closes or offset == M[a + R.page] - 1
    if tiles:
        closes = ends = False
        if offset == M[a + R.tile] - 1:
            stop = 2 + M[a + R.walk + 2 + 2 * M[a + R.number]]
            M[a + R.number] += 1
            offset = -1
            closes = ends = M[a + R.number] == tiles
            if closes:
                M[a + R.number] = 0
    M[a + R.current], M[a + R.offset] = page, offset + 1
    stop = close if closes else stop
    push(M, M[a + R.y], t, make_beat(kind_of(beat), stop, low_of(beat), aux_of(beat)))
    if ends:
        leave(M, a, t, page, closes, final)
    return closes


@step
def repeat(M: Memory, a: int, t: int) -> int:
    starts = M[a + R.starts]
    wait = ready(M, starts, t)
    if wait != READY:
        return wait
    wait = room(M, M[a + R.y], t)
    if wait != READY:
        return wait
    start = head(M, starts)
    if kind_of(start) != VALUE:
        pass_on(M, a, t, start)
        return acted(M, t)
    final = M[a + R.passes] == M[a + R.count] - 1
    close = M[a + R.levels]
    if final:
        close += M[a + R.above] + stop_of(start)
    if send(M, a, t, close, final):
        M[a + R.passes] = 0 if final else M[a + R.passes] + 1
    return acted(M, t)


@helper
def sweep(M: Memory, a: int, t: int, gap: int) -> int:
    """Free a page of a chunk that nobody reads; the last one with the empty token instead."""
    page = M[a + R.current]
    if page == NONE:
        page = aux_of(head(M, M[a + R.starts]))
    closes = M[a + R.fixed] == 1 or M[M[a + R.table] + page] < 0
    if closes:
        wait = room(M, M[a + R.y], t)
        if wait != READY:
            return wait
        push(M, M[a + R.y], t, gap)
        pop(M, M[a + R.ref], t)
    elif M[a + R.offset] == 0:  # the entry of the next page is looked up
        M[a + R.current], M[a + R.offset] = page, 1
        return acted(M, t)
    leave(M, a, t, page, closes, True)
    return acted(M, t)


@step
def follow(M: Memory, a: int, t: int) -> int:
    starts, ref, y, inner = M[a + R.starts], M[a + R.ref], M[a + R.y], M[a + R.inner]
    wait = ready(M, ref, t)
    if wait != READY:
        return wait
    element = head(M, ref)
    kind, stop, low = kind_of(element), stop_of(element), low_of(element)
    hole = kind == BARE and low <= inner
    final = stop >= inner
    gap = make_beat(BARE, stop + M[a + R.levels], low + M[a + R.levels], 0)
    if hole and not final:
        wait = room(M, y, t)
        if wait != READY:
            return wait
        push(M, y, t, gap)
        pop(M, ref, t)
        return acted(M, t)
    wait = ready(M, starts, t)
    if wait != READY:
        return wait
    start = head(M, starts)
    if kind_of(start) != (VALUE if hole else kind):
        return NEVER
    if hole:
        return sweep(M, a, t, gap)
    wait = room(M, y, t)
    if wait != READY:
        return wait
    if kind_of(start) != VALUE:
        pass_on(M, a, t, start)
        pop(M, ref, t)
    elif send(M, a, t, M[a + R.levels] + stop, final):
        pop(M, ref, t)
    return acted(M, t)


def build(unit: Unit, params: Pmu, layout: DesignLayout) -> None:
    """One actor stores, one looks up where a reference leads, one reads."""
    name = unit.name
    x, read = layout.channel(unit.inputs["x"]), layout.channel(unit.inputs["read"])
    made, y = layout.channel(unit.outputs["made"]), layout.channel(unit.outputs["y"])
    free, starts, *elements = (
        layout.internal(f"{name}.{c.name}", c.depth, c.latency)
        for c in params.queues(unit, layout.design)
    )
    memory = dict(
        words=layout.reserve([0] * (params.pages * params.page)),
        table=layout.reserve([0] * params.pages),
        page=params.page,
    )
    own = packed(
        S,
        **memory,
        x=x,
        made=made,
        free=free,
        level=params.level,
        pages=params.pages,
        fresh=0,
        first=0,
        current=NONE,
        offset=0,
    )
    layout.actor(name, "store", store, own, reads=[x, free], writes=[made])
    own = packed(F, read=read, starts=starts)
    layout.actor(name, "fetch", fetch, own, reads=[read], writes=[starts])
    refs = [layout.channel(unit.inputs["ref"])] if params.count is None else []
    if elements:
        own = packed(E, ref=refs[0], elements=elements[0], base=params.ref_base)
        layout.actor(name, "reference", reduce, own, reads=refs, writes=elements)
        refs = elements
    walk = params.walk() if params.shape else []
    own = packed(
        R,
        **memory,
        starts=starts,
        ref=refs[0] if refs else 0,
        y=y,
        free=free,
        levels=params.levels,
        above=params.above,
        inner=params.inner,
        count=params.count or 0,
        fixed=params.fixed,
        current=NONE,
        offset=0,
        passes=0,
        tile=params.tile,
        number=0,
        walk=[len(walk), *(word for tile in walk for word in tile)],
    )
    layout.actor(
        name,
        "read",
        follow if refs else repeat,
        own,
        reads=[starts, *refs],
        writes=[y, free],
    )
