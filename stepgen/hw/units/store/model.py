"""Cycle model of a store: words, bursts and their acknowledgements."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.axi.params import burst
from stepgen.hw.units.store.params import Store
from stepgen.ir.wire import DONE, VALUE
from stepgen.timing.bursts import first_word, make_burst
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

PACK = record(
    "x", "wreq", "wdata", "bursts", "burst", "address", "place", "count", "left", "by_rows",
    "word", "full", "last", "fill", "done",
)  # fmt: skip
SETTLE = record("bursts", "ack")
WAITS, ENDS = 1, 2
"""What an entry of ``bursts`` says: it waits for an acknowledgement, it ends the stream."""


@step
def pack(M: Memory, a: int, t: int) -> int:
    P = PACK
    x = M[a + P.x]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    kind = kind_of(head(M, x))
    value = kind == VALUE and M[a + P.left] > 0
    ends = kind == DONE
    row_ends = stop_of(head(M, x)) > 0
    left = (M[a + P.last] if row_ends else M[a + P.full]) - M[a + P.done]
    used = left <= M[a + P.word]
    fill = M[a + P.fill] + min(left, M[a + P.word])
    word = fill >= M[a + P.word] if value else ends and M[a + P.fill] > 0
    request = word and value and M[a + P.place] + 1 == M[a + P.burst]
    if ends and (word or M[a + P.count] > 0):
        request = True
    for c in (M[a + P.wdata], M[a + P.wreq], M[a + P.bursts]):
        wait = room(M, c, t)
        if wait != READY:
            return wait
    if request or ends:
        push(M, M[a + P.bursts], t, (WAITS if request else 0) | (ENDS if ends else 0))
    if word:
        push(M, M[a + P.wdata], t, 0)
        M[a + P.count] += 1
        M[a + P.place] += 1
    if request:
        push(M, M[a + P.wreq], t, make_burst(M[a + P.address], M[a + P.count]))
        M[a + P.address] += M[a + P.count]
        M[a + P.count] = 0
        M[a + P.place] = 0
    if value:
        M[a + P.fill] = fill % M[a + P.word]
        M[a + P.done] = 0 if used else M[a + P.done] + M[a + P.word]
        if used and (row_ends or not M[a + P.by_rows]):
            M[a + P.left] -= 1
    if used or not value:
        pop(M, x, t)
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
    if entry & ENDS:
        finish(M, a)
    return acted(M, t)


def build(unit: Unit, params: Store, layout: DesignLayout) -> None:
    """Two actors; the run lasts until the last acknowledgement."""
    design = layout.design
    bus, channel = design.bus, design.channel[unit.inputs["x"]]
    x, ack = (layout.channel(unit.inputs[port]) for port in ("x", "ack"))
    wreq, wdata = (layout.channel(unit.outputs[port]) for port in ("wreq", "wdata"))
    queue = params.bursts(bus)
    bursts = layout.internal(f"{unit.name}.bursts", queue.depth, queue.latency)
    gear = params.gear(channel)
    longest = burst(bus, design.channel[unit.outputs["wdata"]].depth)
    own = packed(
        PACK,
        x=x,
        wreq=wreq,
        wdata=wdata,
        bursts=bursts,
        burst=longest,
        address=first_word(params.base, bus.bytes, bus.bytes),
        place=params.base // bus.bytes % longest,
        count=0,
        left=params.room(channel),
        by_rows=params.row_bytes > 0,
        word=bus.bytes,
        full=gear.full,
        last=gear.last,
        fill=0,
        done=0,
    )
    layout.actor(unit.name, "pack", pack, own, reads=[x], writes=[wreq, wdata, bursts])
    layout.actor(
        unit.name,
        "settle",
        settle,
        packed(SETTLE, bursts=bursts, ack=ack),
        reads=[bursts, ack],
        writes=[],
        finishes=True,
    )
