"""Timing of the arbiter between the off-chip units and the bus."""

from __future__ import annotations

from ...compile.design import LUTRAM, MEMORY_LATENCY, Unit
from ...compile.units.memory import stages
from ..kernel import (
    ANY,
    EMPTY_INPUT,
    OWN,
    POPPED,
    PUSHED,
    READY,
    REASON,
    acted,
    head,
    pop,
    push,
    ready,
    room,
    step,
)
from ..laid_out import LaidOut

OUT, OWNERS, MOVERS, UNDER_WAY, TURN, CHOSEN, COUNT, REQUESTS = range(OWN, OWN + 8)
NONE = 0
NOTHING, NOTHING_YET = -1, -2
INDEX_BITS = 16


@step
def choose(M, a, t):  # type: ignore[no-untyped-def]
    """Index of the next in turn whose request is there, but not of the chosen one; or why none."""
    count, turn = M[a + COUNT], M[a + TURN]
    waiting = False
    for n in range(count):
        index = turn + n if turn + n < count else turn + n - count
        c = M[a + REQUESTS + index]
        if index == M[a + CHOSEN] or M[c + PUSHED] == M[c + POPPED]:
            continue
        if ready(M, c, t) == READY:
            return index
        waiting = True
    return NOTHING_YET if waiting else NOTHING


@step
def grant(M, a, t):  # type: ignore[no-untyped-def]
    chosen = M[a + CHOSEN]
    if chosen >= 0:
        wait = room(M, M[a + OUT], t)
        if wait != READY:
            return wait
        wait = room(M, M[a + UNDER_WAY], t)
        if wait != READY:
            return wait
        length = pop(M, M[a + REQUESTS + chosen], t)
        push(M, M[a + OUT], t, length)
        push(M, M[a + OWNERS], t, chosen)
        push(M, M[a + UNDER_WAY], t, 0)
        if M[a + MOVERS] != NONE:
            push(M, M[a + MOVERS], t, length << INDEX_BITS | chosen)
    following = choose(M, a, t)
    if following >= 0:
        M[a + CHOSEN] = following
        M[a + TURN] = following + 1 if following + 1 < M[a + COUNT] else 0
        return acted(M, t)
    M[a + CHOSEN] = NOTHING
    if chosen >= 0:
        return acted(M, t)
    M[REASON] = EMPTY_INPUT
    return t + 1 if following == NOTHING_YET else ANY


IN, QUEUE, OPEN, OUTS = range(OWN, OWN + 4)


@step
def give_back(M, a, t):  # type: ignore[no-untyped-def]
    wait = ready(M, M[a + IN], t)
    if wait != READY:
        return wait
    wait = ready(M, M[a + QUEUE], t)
    if wait != READY:
        return wait
    last = pop(M, M[a + IN], t)
    push(M, M[a + OUTS + head(M, M[a + QUEUE])], t, 0)
    if last:
        pop(M, M[a + QUEUE], t)
        pop(M, M[a + OPEN], t)
    return acted(M, t)


@step
def acknowledge(M, a, t):  # type: ignore[no-untyped-def]
    wait = ready(M, M[a + IN], t)
    if wait != READY:
        return wait
    wait = ready(M, M[a + QUEUE], t)
    if wait != READY:
        return wait
    pop(M, M[a + IN], t)
    pop(M, M[a + OPEN], t)
    push(M, M[a + OUTS + pop(M, M[a + QUEUE], t)], t, 0)
    return acted(M, t)


MOVED, WORDS = OWN + 2, OWN + 3


@step
def move(M, a, t):  # type: ignore[no-untyped-def]
    wait = ready(M, M[a + IN], t)
    if wait != READY:
        return wait
    burst = head(M, M[a + IN])
    words = M[a + WORDS + (burst & ((1 << INDEX_BITS) - 1))]
    wait = ready(M, words, t)
    if wait != READY:
        return wait
    wait = room(M, M[a + QUEUE], t)
    if wait != READY:
        return wait
    pop(M, words, t)
    M[a + MOVED] += 1
    last = M[a + MOVED] == burst >> INDEX_BITS
    push(M, M[a + QUEUE], t, last)
    if last:
        pop(M, M[a + IN], t)
        M[a + MOVED] = 0
    return acted(M, t)


def build(unit: Unit, machine: LaidOut) -> None:
    """Five actors; the loads' credits and the stores' queues see to it that answers have room."""
    loads, stores = unit.params["loads"], unit.params["stores"]
    outstanding = machine.design.bus.outstanding
    queue_depth = max(2, outstanding)
    ins = [machine.channel(name) for name in unit.inputs]
    outs = [machine.channel(name) for name in unit.outputs]
    reqs, wreqs = ins[:loads], ins[loads : loads + stores]
    wdatas, up = ins[loads + stores : loads + 2 * stores], iter(ins[loads + 2 * stores :])
    datas, acks, down = outs[:loads], outs[loads : loads + stores], iter(outs[loads + stores :])

    if loads:
        ar, r = next(down), next(up)
        latency = MEMORY_LATENCY[LUTRAM] + stages(loads)
        owners = machine.internal(f"{unit.name}.read_owners", queue_depth, latency)
        under_way = machine.internal(f"{unit.name}.reads_under_way", outstanding)
        machine.actor(
            unit.name,
            "grant reads",
            grant,
            [ar, owners, NONE, under_way, 0, NOTHING, loads, *reqs],
            reads=reqs,
            writes=[ar, owners, under_way],
        )
        machine.actor(
            unit.name,
            "return",
            give_back,
            [r, owners, under_way, *datas],
            reads=[r, owners, under_way],
            writes=[],  # who asked for the words minds the room for them
        )
    if stores:
        aw, w, b = next(down), next(down), next(up)
        latency = MEMORY_LATENCY[LUTRAM] + stages(stores)
        owners = machine.internal(f"{unit.name}.write_owners", queue_depth, latency)
        movers = machine.internal(f"{unit.name}.write_movers", queue_depth, latency)
        under_way = machine.internal(f"{unit.name}.writes_under_way", outstanding)
        machine.actor(
            unit.name,
            "grant writes",
            grant,
            [aw, owners, movers, under_way, 0, NOTHING, stores, *wreqs],
            reads=wreqs,
            writes=[aw, owners, movers, under_way],
        )
        machine.actor(
            unit.name,
            "move",
            move,
            [movers, w, 0, *wdatas],
            reads=[movers, *wdatas],
            writes=[w],
        )
        machine.actor(
            unit.name,
            "acknowledge",
            acknowledge,
            [b, owners, under_way, *acks],
            reads=[b, owners, under_way],
            writes=acks,
        )
