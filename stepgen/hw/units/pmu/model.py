"""Cycle model of a PMU: one actor stores chunks in free pages, others read them by reference."""

from __future__ import annotations

from stepgen.hw.design.registers import NUMBER_BITS, TOO_LARGE
from stepgen.hw.design.table import Unit
from stepgen.hw.units.pmu.params import Pmu
from stepgen.ir.wire import BARE, DONE, VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.elements import E, reduce
from stepgen.timing.kernel import *
from stepgen.timing.kernel import EMPTY_INPUT, FULL_OUTPUT, OWN, REASON
from stepgen.timing.shares import MISSING, NONE, given_back, lay_out

MEMORY = ("words", "table", "page")
"""Where pages and table are, and the words of a page."""
S = record(
    *MEMORY,
    *("x", "made", "free", "opened", "level", "pages", "fresh", "first", "current", "offset"),
    *("most", "row", "rows", "over", "limit"),
)
F = record("read", "starts")
R = record(
    *MEMORY,
    *("starts", "ref", "y", "free", "returned", "levels", "above", "inner", "count", "fixed"),
    *("current", "offset", "passes", "tile", "number", "walk"),
)
G = record("granted", "last", "count", "readers")
BETWEEN_ROWS, IN_ROW, CLOSED = 1, 2, 3
"""Where in a chunk with too many rows `store` is; 0 in others."""
LARGEST_NUMBER = (1 << NUMBER_BITS) - 1


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
    fault(M, a, t, M[a + S.rows] if M[a + S.rows] < M[a + S.limit] else LARGEST_NUMBER)
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
    """Send what is not a chunk: an empty group of references, or the end."""
    by = M[a + R.levels] + M[a + R.above]
    if kind_of(beat) == BARE:
        beat = make_beat(BARE, stop_of(beat) + by, low_of(beat) + by, 0)
    push(M, M[a + R.y], t, beat)
    pop(M, M[a + R.starts], t)


@helper
def give_back(M: Memory, a: int, t: int) -> None:
    """A reference has been served."""
    start = pop(M, M[a + R.starts], t)
    if M[a + R.returned] != MISSING:
        push(M, M[a + R.returned], t, given_back(aux_of(start), 1))


@helper
def leave(M: Memory, a: int, t: int, page: int, closes: bool, final: bool) -> None:
    """Go on behind the last word of a page, which is free after the last pass or is counted."""
    follower = M[M[a + R.table] + page]
    if final and M[a + R.free] != MISSING:
        push(M, M[a + R.free], t, page)
    M[a + R.offset], M[a + R.current] = 0, NONE if closes else follower
    if closes and final:
        give_back(M, a, t)


@helper
def page_at(M: Memory, a: int) -> int:
    """The page that is being read."""
    page = M[a + R.current]
    return page if page != NONE else aux_of(head(M, M[a + R.starts]))


@helper
def send(M: Memory, a: int, t: int, close: int, final: bool) -> bool:
    """Send the word at hand; returns whether the reading ends, then with the stop `close`."""
    page, offset = page_at(M, a), M[a + R.offset]
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


@helper
def is_swept(M: Memory, a: int) -> bool:
    """Whether one page at most is left of a chunk that nobody reads; counted pages stay."""
    if M[a + R.free] == MISSING or M[a + R.fixed] == 1:
        return True
    return M[M[a + R.table] + page_at(M, a)] < 0


@helper
def drop(M: Memory, a: int, t: int, gap: int) -> None:
    """Free a page of a chunk that nobody reads; the last one with the empty token instead."""
    page, swept = page_at(M, a), is_swept(M, a)
    if swept:
        push(M, M[a + R.y], t, gap)
        pop(M, M[a + R.ref], t)
    elif M[a + R.offset] == 0:  # the entry of the next page is looked up
        M[a + R.current], M[a + R.offset] = page, 1
        return
    leave(M, a, t, page, swept, True)


@helper
def look(M: Memory, a: int, t: int) -> int:
    """`READY` if a reader can go on, else what to wait for."""
    starts, ref, y, inner = M[a + R.starts], M[a + R.ref], M[a + R.y], M[a + R.inner]
    hole, kind = False, VALUE
    if ref != MISSING:
        wait = ready(M, ref, t)
        if wait != READY:
            return wait
        element = head(M, ref)
        kind = kind_of(element)
        hole = kind == BARE and low_of(element) <= inner
        if hole and stop_of(element) < inner:
            return room(M, y, t)
    wait = ready(M, starts, t)
    if wait != READY:
        return wait
    if ref != MISSING and kind_of(head(M, starts)) != (VALUE if hole else kind):
        return NEVER
    return READY if hole and not is_swept(M, a) else room(M, y, t)


@helper
def repeat(M: Memory, a: int, t: int) -> None:
    """Go on reading chunks a number of times each."""
    start = head(M, M[a + R.starts])
    if kind_of(start) != VALUE:
        pass_on(M, a, t, start)
        return
    final = M[a + R.passes] == M[a + R.count] - 1
    close = M[a + R.levels]
    if final:
        close += M[a + R.above] + stop_of(start)
    if send(M, a, t, close, final):
        M[a + R.passes] = 0 if final else M[a + R.passes] + 1


@helper
def follow(M: Memory, a: int, t: int) -> None:
    """Go on reading chunks once per element of the reference."""
    ref, inner, levels = M[a + R.ref], M[a + R.inner], M[a + R.levels]
    element = head(M, ref)
    kind, stop, low = kind_of(element), stop_of(element), low_of(element)
    final = stop >= inner
    if kind == BARE and low <= inner:
        gap = make_beat(BARE, stop + levels, low + levels, 0)
        if final:
            drop(M, a, t, gap)
        else:
            push(M, M[a + R.y], t, gap)
            pop(M, ref, t)
        return
    start = head(M, M[a + R.starts])
    if kind_of(start) != VALUE:
        pass_on(M, a, t, start)
        pop(M, ref, t)
    elif send(M, a, t, levels + stop, final):
        pop(M, ref, t)


@helper
def go_on(M: Memory, a: int, t: int) -> None:
    """What a reader does next."""
    if M[a + R.ref] == MISSING:
        repeat(M, a, t)
    else:
        follow(M, a, t)


@step
def read(M: Memory, a: int, t: int) -> int:
    wait = look(M, a, t)
    if wait != READY:
        return wait
    go_on(M, a, t)
    return acted(M, t)


@step
def take_turns(M: Memory, a: int, t: int) -> int:
    count, granted = M[a + G.count], M[a + G.granted]
    if granted != NONE:
        go_on(M, M[a + G.readers + granted], t)
    M[a + G.granted], later, full = NONE, ANY, False
    for k in range(1, count + 1):
        n = (M[a + G.last] + k) % count
        if n == granted:
            continue
        wait = look(M, M[a + G.readers + n], t)
        if wait == READY:
            M[a + G.granted] = M[a + G.last] = n
            break
        if wait > 0:
            later = t + 1
        full |= M[REASON] == FULL_OUTPUT
    if granted != NONE or M[a + G.granted] != NONE:
        return acted(M, t)
    # One reader may have nothing to read while another has no space for what it has read.
    M[REASON] = FULL_OUTPUT if full else EMPTY_INPUT
    return later


def build(unit: Unit, params: Pmu, layout: DesignLayout) -> None:
    """One actor stores; those of an output look up where references lead; one reads."""
    name = unit.name
    port = {**unit.inputs, **unit.outputs}
    channel = {key: layout.channel(c) for key, c in port.items()}
    queue = {
        c.name: layout.internal(f"{name}.{c.name}", c.depth, c.latency)
        for c in params.queues(unit, layout.design)
    }
    free, returned = queue.get("free", MISSING), queue.get("returned", MISSING)
    opened = closed = MISSING
    if params.counts:
        opened, closed = (layout.internal(f"{name}.{each}", 2) for each in ("opened", "closed"))
    memory = dict(
        words=layout.reserve([0] * (params.pages * params.page)),
        table=layout.reserve([0] * params.pages),
        page=params.page,
    )
    own = packed(
        S,
        **memory,
        x=channel["x"],
        made=channel["made"],
        free=free,
        opened=opened,
        level=params.level,
        pages=params.pages,
        fresh=0,
        first=0,
        current=NONE,
        offset=0,
        most=params.most,
        row=params.row,
        rows=0,
        over=0,
        limit=(1 << params.counted_bits) - 1,
    )
    reads, writes = [channel["x"], *([free] if free else [])], [channel["made"]]
    writes += [opened] if opened else []
    actor = layout.actor(name, "store", store, own, reads=reads, writes=writes)
    if params.most:
        layout.reports(actor, unit, cause=TOO_LARGE)

    readers: list[list[int]] = []
    reads, writes = [], []
    for n, one in enumerate(params.readings):
        label = f"_{n}" if len(params.readings) > 1 else ""
        starts = queue[f"starts_{n}"]
        own = packed(F, read=channel[f"read_{n}"], starts=starts)
        layout.actor(
            name, f"fetch{label}", fetch, own, reads=[channel[f"read_{n}"]], writes=[starts]
        )
        ref = channel.get(f"ref_{n}", MISSING)
        if one.ref_base:
            elements = queue[f"elements_{n}"]
            own = packed(E, ref=ref, elements=elements, base=one.ref_base)
            layout.actor(name, f"reference{label}", reduce, own, reads=[ref], writes=[elements])
            ref = elements
        walk = one.walk() if one.shape else []
        own = packed(
            R,
            **memory,
            starts=starts,
            ref=ref,
            y=channel[f"y_{n}"],
            free=MISSING if params.counts else free,
            returned=returned,
            levels=params.levels(one),
            above=one.above,
            inner=one.inner,
            count=one.count or 0,
            fixed=params.fixed,
            current=NONE,
            offset=0,
            passes=0,
            tile=one.tile,
            number=0,
            walk=[len(walk), *(word for tile in walk for word in tile)],
        )
        readers.append(own)
        reads += [starts, *([ref] if ref else [])]
        writes += [channel[f"y_{n}"]]
    if params.counts:
        writes.append(returned)
    elif free:
        writes.append(free)
    if len(readers) == 1:
        layout.actor(name, "read", read, readers[0], reads=reads, writes=writes)
    else:
        places = [layout.reserve(own) - OWN for own in readers]
        own = packed(G, granted=NONE, last=NONE, count=len(readers), readers=places)
        layout.actor(name, "read", take_turns, own, reads=reads, writes=writes)
    if params.counts:
        rests = [channel[f"rest_{n}"] for n in range(params.rests)]
        lay_out(
            layout,
            name,
            shares=params.shares,
            pages=params.pages,
            links=MISSING if params.fixed else memory["table"],
            messages=[returned, *rests],
            channels=dict(queue, opened=opened, closed=closed),
        )
