"""Cycle model of a store by address: starts, words, bursts, and flags for what is written."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.axi.params import burst
from stepgen.hw.units.random_store.params import RandomStore
from stepgen.ir.wire import BARE, DONE, VALUE
from stepgen.timing.bursts import first_word, make_burst
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *
from stepgen.timing.look_up import build_look_up

PACK = record(
    "x", "starts", "wreq", "wdata", "bursts", "burst", "first", "address", "word", "full", "last",
    "levels", "inside", "flushes", "place", "count", "fill", "done",
)  # fmt: skip
SETTLE = record("bursts", "ack", "written")
TELL = record("closes", "written", "y")
WAITS, LAST = 1, 2
"""Flags of an entry of ``bursts``: it waits for an acknowledgement; it is the last of a tile."""


@step
def pack(M: Memory, a: int, t: int) -> int:
    P = PACK
    x, word = M[a + P.x], M[a + P.word]
    used = ends = False
    left = 0
    if not M[a + P.flushes]:
        wait = ready(M, x, t)
        if wait != READY:
            return wait
        beat = head(M, x)
        kind = kind_of(beat)
        if kind == BARE:
            pop(M, x, t)
            return acted(M, t)
        if kind == DONE:
            wait = room(M, M[a + P.bursts], t)
            if wait != READY:
                return wait
            push(M, M[a + P.bursts], t, LAST)
            pop(M, x, t)
            return acted(M, t)
        if not M[a + P.inside]:
            wait = ready(M, M[a + P.starts], t)
            if wait != READY:
                return wait
        left = (M[a + P.last] if stop_of(beat) > 0 else M[a + P.full]) - M[a + P.done]
        used = left <= word
        ends = used and stop_of(beat) >= M[a + P.levels]
    for c in (M[a + P.wdata], M[a + P.wreq], M[a + P.bursts]):
        wait = room(M, c, t)
        if wait != READY:
            return wait
    if not M[a + P.flushes] and not M[a + P.inside]:
        start = pop(M, M[a + P.starts], t)
        M[a + P.address] = M[a + P.first] + start // word
        M[a + P.place] = start // word % M[a + P.burst]
        M[a + P.fill] = start % word
        M[a + P.inside] = True
    fill = M[a + P.fill] + min(left, word)
    final = M[a + P.flushes] or (ends and fill <= word)
    M[a + P.flushes] = ends and fill > word
    if used:
        pop(M, x, t)
    M[a + P.done] = 0 if used or final else M[a + P.done] + word
    M[a + P.fill] = fill % word
    if final or fill >= word:
        push(M, M[a + P.wdata], t, 0)
        M[a + P.count] += 1
        M[a + P.place] += 1
        if final or M[a + P.place] == M[a + P.burst]:
            push(M, M[a + P.bursts], t, WAITS | (LAST if final else 0))
            push(M, M[a + P.wreq], t, make_burst(M[a + P.address], M[a + P.count]))
            M[a + P.address] += M[a + P.count]
            M[a + P.count] = 0
            M[a + P.place] = 0
    if final:
        M[a + P.inside] = False
    return acted(M, t)


@step
def settle(M: Memory, a: int, t: int) -> int:
    P = SETTLE
    wait = ready(M, M[a + P.bursts], t)
    if wait != READY:
        return wait
    entry = head(M, M[a + P.bursts])
    if entry & WAITS:
        wait = ready(M, M[a + P.ack], t)
        if wait != READY:
            return wait
        pop(M, M[a + P.ack], t)
    pop(M, M[a + P.bursts], t)
    if entry & LAST:
        push(M, M[a + P.written], t, 0)
    return acted(M, t)


@step
def send_flag(M: Memory, a: int, t: int) -> int:
    P = TELL
    closes = M[a + P.closes]
    wait = ready(M, closes, t)
    if wait != READY:
        return wait
    beat = head(M, closes)
    kind = kind_of(beat)
    if kind != BARE:
        wait = ready(M, M[a + P.written], t)
        if wait != READY:
            return wait
    wait = room(M, M[a + P.y], t)
    if wait != READY:
        return wait
    pop(M, closes, t)
    if kind != BARE:
        pop(M, M[a + P.written], t)
    push(M, M[a + P.y], t, make_beat(kind, stop_of(beat), 0, 1) if kind == VALUE else beat)
    if kind == DONE:
        finish(M, a)
    return acted(M, t)


def build(unit: Unit, params: RandomStore, layout: DesignLayout) -> None:
    """Four actors; the run lasts until the last one has reported that all is written."""
    design = layout.design
    bus, by = design.bus, params.by_address(unit, design)
    at, x, ack = (layout.channel(unit.inputs[port]) for port in ("at", "x", "ack"))
    y, wreq, wdata = (layout.channel(unit.outputs[port]) for port in ("y", "wreq", "wdata"))
    bursts, closes = (
        layout.internal(f"{unit.name}.{queue.name}", queue.depth, queue.latency)
        for queue in (params.bursts(bus), params.closes(unit, design))
    )
    written = layout.internal(f"{unit.name}.written", params.ahead + 1)
    starts = build_look_up(unit, by, layout, at, closes)
    gear = params.gear(design.channel[unit.inputs["x"]])
    own = packed(
        PACK,
        x=x,
        starts=starts,
        wreq=wreq,
        wdata=wdata,
        bursts=bursts,
        burst=burst(bus, design.channel[unit.outputs["wdata"]].depth),
        first=first_word(by.base, by.boundary, by.word),
        address=0,
        word=bus.bytes,
        full=gear.full,
        last=gear.last,
        levels=params.tile_levels,
        inside=False,
        flushes=False,
        place=0,
        count=0,
        fill=0,
        done=0,
    )
    reads, writes = [x, starts], [wreq, wdata, bursts]
    layout.actor(unit.name, "pack", pack, own, reads=reads, writes=writes)
    own = packed(SETTLE, bursts=bursts, ack=ack, written=written)
    layout.actor(unit.name, "settle", settle, own, reads=[bursts, ack], writes=[written])
    own = packed(TELL, closes=closes, written=written, y=y)
    reads = [closes, written]
    layout.actor(unit.name, "tell", send_flag, own, reads=reads, writes=[y], finishes=True)
