"""References to pages that come back: they are counted, and pages that nothing refers to are freed.

A message says of which page, and how many references to it come back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stepgen.ir.wire import DONE, VALUE
from stepgen.timing.kernel import *
from stepgen.timing.layout import Layout

C = record("shares", "table", "free", "heads", "closed", "count", "messages")
W = record("links", "heads", "free", "closed", "current")
L = record("opened", "closed", "live", "ended")

AMOUNT_BITS = 16
NONE = -1
"""No page, or none of several."""
MISSING = 0
"""A channel or a table that is not there."""


@helper
def given_back(page: int, amount: int) -> int:
    """The message that `amount` references to a page come back."""
    return make_beat(VALUE, 0, 0, (page << AMOUNT_BITS) | amount)


@step
def count(M: Memory, a: int, t: int) -> int:
    later = ANY
    for n in range(M[a + C.count]):
        c = M[a + C.messages + n]
        wait = ready(M, c, t)
        if wait == READY:
            message = pop(M, c, t)
            page = aux_of(message) >> AMOUNT_BITS
            place = M[a + C.table] + page
            M[place] += aux_of(message) & ((1 << AMOUNT_BITS) - 1)
            if M[place] == M[a + C.shares]:
                M[place] = 0
                if M[a + C.heads] != MISSING:
                    push(M, M[a + C.heads], t, page)
                else:
                    push(M, M[a + C.free], t, page)
                    push(M, M[a + C.closed], t, page)
            return acted(M, t)
        if wait > 0:
            later = t + 1
    return later


@step
def sweep(M: Memory, a: int, t: int) -> int:
    page = M[a + W.current]
    if page == NONE:
        wait = ready(M, M[a + W.heads], t)
        if wait != READY:
            return wait
        page = pop(M, M[a + W.heads], t)
    follower = M[M[a + W.links] + page]
    push(M, M[a + W.free], t, page)
    M[a + W.current] = follower if follower >= 0 else NONE
    if follower < 0:
        push(M, M[a + W.closed], t, page)
    return acted(M, t)


@step
def tally(M: Memory, a: int, t: int) -> int:
    opened, closed, moved, later = M[a + L.opened], M[a + L.closed], False, ANY
    wait = ready(M, opened, t)
    if wait == READY:
        moved = True
        if kind_of(pop(M, opened, t)) == DONE:
            M[a + L.ended] = 1
        else:
            M[a + L.live] += 1
    elif wait > 0:
        later = t + 1
    wait = ready(M, closed, t)
    if wait == READY:
        moved = True
        pop(M, closed, t)
        M[a + L.live] -= 1
    elif wait > 0:
        later = t + 1
    if not moved:
        return later
    if M[a + L.ended] and M[a + L.live] == 0:
        M[a + L.ended] = 0
        finish(M, a)
    return acted(M, t)


def lay_out(
    layout: Layout,
    name: str,
    *,
    shares: int,
    pages: int,
    links: int,
    messages: Sequence[int],
    channels: Mapping[str, int],
) -> None:
    """One actor counts what comes back, one frees the pages of chunks, one waits for the last.

    Parameters
    ----------
    layout : Layout
    name : str
        The unit.
    shares : int
        References to a page that come back before it is free.
    pages : int
        Number of pages.
    links : int
        Address of the table that links the pages of a chunk; `MISSING` if each is one page.
    messages : sequence of int
        Channels that references come back on, the first first.
    channels : mapping of str to int
        ``opened`` with a beat for each chunk stored, and the end; ``closed`` for each one freed;
        ``free`` pages; with links also ``heads``: the first pages of chunks to be freed.
    """
    free, closed, heads = channels["free"], channels["closed"], channels.get("heads", MISSING)
    own = packed(
        C,
        shares=shares,
        table=layout.reserve([0] * pages),
        free=free,
        heads=heads,
        closed=closed,
        count=len(messages),
        messages=messages,
    )
    writes = [heads] if heads else [free, closed]
    layout.actor(name, "count", count, own, reads=messages, writes=writes)
    if heads:
        own = packed(W, links=links, heads=heads, free=free, closed=closed, current=NONE)
        layout.actor(name, "sweep", sweep, own, reads=[heads], writes=[free, closed])
    opened = channels["opened"]
    own = packed(L, opened=opened, closed=closed, live=0, ended=0)
    layout.actor(name, "tally", tally, own, reads=[opened, closed], writes=[], finishes=True)
