"""Cycle model of the arbiter between the off-chip units and the bus."""

from __future__ import annotations

from stepgen.hw.design.params import numbered
from stepgen.hw.design.table import Unit
from stepgen.hw.units.memory.params import Memory as Params
from stepgen.timing.bursts import burst_length
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *
from stepgen.timing.kernel import EMPTY_INPUT, POPPED, PUSHED, REASON

GRANT = record("request", "owners", "movers", "under_way", "turn", "chosen", "count", "requests")
RETURN = record("r", "owners", "under_way", "datas")
MOVE = record("movers", "w", "moved", "wdatas")
ACKNOWLEDGE = record("b", "owners", "under_way", "acks")

NO_CHANNEL = 0
NOTHING, NOTHING_YET = -1, -2
INDEX_BITS = 16
"""Bits of a store's number in an entry of ``movers``; above them is the length of its burst."""


@helper
def choose(M: Memory, a: int, t: int) -> int:
    """Round robin: index of the next requester but the chosen one; negative if there is none."""
    P = GRANT
    count, turn = M[a + P.count], M[a + P.turn]
    waiting = False
    for n in range(count):
        index: int = turn + n if turn + n < count else turn + n - count
        c = M[a + P.requests + index]
        if index == M[a + P.chosen] or M[c + PUSHED] == M[c + POPPED]:
            continue
        if ready(M, c, t) == READY:
            return index
        waiting = True
    return NOTHING_YET if waiting else NOTHING


@step
def grant(M: Memory, a: int, t: int) -> int:
    P = GRANT
    chosen = M[a + P.chosen]
    if chosen >= 0:
        wait = room(M, M[a + P.request], t)
        if wait != READY:
            return wait
        wait = room(M, M[a + P.under_way], t)
        if wait != READY:
            return wait
        wanted = pop(M, M[a + P.requests + chosen], t)
        push(M, M[a + P.request], t, wanted)
        push(M, M[a + P.owners], t, chosen)
        push(M, M[a + P.under_way], t, 0)
        if M[a + P.movers] != NO_CHANNEL:
            push(M, M[a + P.movers], t, burst_length(wanted) << INDEX_BITS | chosen)
    following = choose(M, a, t)
    if following >= 0:
        M[a + P.chosen] = following
        M[a + P.turn] = following + 1 if following + 1 < M[a + P.count] else 0
        return acted(M, t)
    M[a + P.chosen] = NOTHING
    if chosen >= 0:
        return acted(M, t)
    M[REASON] = EMPTY_INPUT
    return t + 1 if following == NOTHING_YET else ANY


@step
def give_back(M: Memory, a: int, t: int) -> int:
    P = RETURN
    wait = ready(M, M[a + P.r], t)
    if wait != READY:
        return wait
    wait = ready(M, M[a + P.owners], t)
    if wait != READY:
        return wait
    last = pop(M, M[a + P.r], t)
    push(M, M[a + P.datas + head(M, M[a + P.owners])], t, 0)
    if last:
        pop(M, M[a + P.owners], t)
        pop(M, M[a + P.under_way], t)
    return acted(M, t)


@step
def move(M: Memory, a: int, t: int) -> int:
    P = MOVE
    wait = ready(M, M[a + P.movers], t)
    if wait != READY:
        return wait
    burst = head(M, M[a + P.movers])
    wdata = M[a + P.wdatas + (burst & ((1 << INDEX_BITS) - 1))]
    wait = can_pass(M, wdata, M[a + P.w], t)
    if wait != READY:
        return wait
    pop(M, wdata, t)
    M[a + P.moved] += 1
    last = M[a + P.moved] == burst >> INDEX_BITS
    push(M, M[a + P.w], t, last)
    if last:
        pop(M, M[a + P.movers], t)
        M[a + P.moved] = 0
    return acted(M, t)


@step
def acknowledge(M: Memory, a: int, t: int) -> int:
    P = ACKNOWLEDGE
    wait = ready(M, M[a + P.b], t)
    if wait != READY:
        return wait
    wait = ready(M, M[a + P.owners], t)
    if wait != READY:
        return wait
    pop(M, M[a + P.b], t)
    pop(M, M[a + P.under_way], t)
    push(M, M[a + P.acks + pop(M, M[a + P.owners], t)], t, 0)
    return acted(M, t)


def build(unit: Unit, params: Params, layout: DesignLayout) -> None:
    """Five actors; the loads' credits and the stores' queues guarantee space for responses."""
    if params.loads:
        build_reads(unit, params, layout)
    if params.stores:
        build_writes(unit, params, layout)


def build_reads(unit: Unit, params: Params, layout: DesignLayout) -> None:
    """The actors between loads and bus."""
    reqs = [layout.channel(unit.inputs[port]) for port in numbered("req", params.loads)]
    datas = [layout.channel(unit.outputs[port]) for port in numbered("data", params.loads)]
    ar, r = layout.channel(unit.outputs["ar"]), layout.channel(unit.inputs["r"])
    owners = turns(unit, params, layout, "read_owners")
    under_way = layout.internal(f"{unit.name}.reads_under_way", layout.design.bus.outstanding)
    layout.actor(
        unit.name,
        "grant reads",
        grant,
        packed(
            GRANT,
            request=ar,
            owners=owners,
            movers=NO_CHANNEL,
            under_way=under_way,
            turn=0,
            chosen=NOTHING,
            count=len(reqs),
            requests=reqs,
        ),
        reads=reqs,
        writes=[ar, owners, under_way],
    )
    layout.actor(
        unit.name,
        "return",
        give_back,
        packed(RETURN, r=r, owners=owners, under_way=under_way, datas=datas),
        reads=[r, owners, under_way],
        writes=[],  # the load has reserved the space (credit)
    )


def build_writes(unit: Unit, params: Params, layout: DesignLayout) -> None:
    """The actors between stores and bus."""

    def inputs(port: str) -> list[int]:
        names = numbered(port, params.stores)
        return [layout.channel(unit.inputs[name]) for name in names]

    wreqs, wdatas = inputs("wreq"), inputs("wdata")
    acks = [layout.channel(unit.outputs[port]) for port in numbered("ack", params.stores)]
    aw, w = layout.channel(unit.outputs["aw"]), layout.channel(unit.outputs["w"])
    b = layout.channel(unit.inputs["b"])
    owners = turns(unit, params, layout, "write_owners")
    movers = turns(unit, params, layout, "write_movers")
    under_way = layout.internal(f"{unit.name}.writes_under_way", layout.design.bus.outstanding)
    layout.actor(
        unit.name,
        "grant writes",
        grant,
        packed(
            GRANT,
            request=aw,
            owners=owners,
            movers=movers,
            under_way=under_way,
            turn=0,
            chosen=NOTHING,
            count=len(wreqs),
            requests=wreqs,
        ),
        reads=wreqs,
        writes=[aw, owners, movers, under_way],
    )
    layout.actor(
        unit.name,
        "move",
        move,
        packed(MOVE, movers=movers, w=w, moved=0, wdatas=wdatas),
        reads=[movers, *wdatas],
        writes=[w],
    )
    layout.actor(
        unit.name,
        "acknowledge",
        acknowledge,
        packed(ACKNOWLEDGE, b=b, owners=owners, under_way=under_way, acks=acks),
        reads=[b, owners, under_way],
        writes=acks,
    )


def turns(unit: Unit, params: Params, layout: DesignLayout, name: str) -> int:
    """One of the queues that record whose burst is next."""
    queue = params.turns(layout.design.bus)[name]
    return layout.internal(f"{unit.name}.{name}", queue.depth, queue.latency)
