"""partition: one element per cycle, to all consumers that its selector names."""

from __future__ import annotations

from stepgen.ir.errors import StepError
from stepgen.ir.stream import Node
from stepgen.ir.wire import BARE, VALUE
from stepgen.timing.kernel import *
from stepgen.timing.kernel import FAULT
from stepgen.timing.selector import selected
from stepgen.timing.tiles import buffers
from stepgen.timing.tiles.actor import COMMON, IDLE, area, fresh, is_done, later, send, take
from stepgen.timing.tiles.program import TileProgram
from stepgen.timing.tiles.streams import holds_tiles, rests

# `refers`: whether a buffer is kept for the references of any output; behind `outs`, of each
P = record(
    *COMMON._fields,
    "x",
    "selectors",
    "rank",
    "ended",
    "surplus",
    "refers",
    "bytes",
    "bandwidth",
    "count",
    "outs",
)


@step
def route(M: Memory, a: int, t: int) -> int:
    x, selectors, rank, count = M[a + P.x], M[a + P.selectors], M[a + P.rank], M[a + P.count]
    if M[a + P.ended]:
        wait = ready(M, selectors, t)
        if wait != READY:
            return wait
        if is_done(take(M, selectors, t)):
            finish(M, a)
            return NEVER
        if not M[a + P.surplus]:
            M[FAULT] = a
            return NEVER
        return acted(M, t)
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    if is_done(beat):
        for n in range(count):
            wait = room(M, M[a + P.outs + n], t)
            if wait != READY:
                return wait
        for n in range(count):
            send(M, a, M[a + P.outs + n], t, beat)
        take(M, x, t)
        M[a + P.ended] = 1
        return acted(M, t)
    wait = ready(M, selectors, t)
    if wait != READY:
        return wait
    selector = head(M, selectors)
    if M[a + P.bytes] and kind_of(beat) == VALUE:
        if M[a + P.busy_until] == IDLE:
            read = M[a + P.bytes] * area(aux_of(beat))
            M[a + P.busy_until] = t + (read + M[a + P.bandwidth] - 1) // M[a + P.bandwidth]
        if t < M[a + P.busy_until]:
            return later(M, t, M[a + P.busy_until])
    if kind_of(beat) != BARE or low_of(beat) <= rank:
        for n in range(count):
            if selected(M, selector, n, count):
                wait = room(M, M[a + P.outs + n], t)
                if wait != READY:
                    return wait
        sent = make_beat(kind_of(beat), min(stop_of(beat), rank), low_of(beat), aux_of(beat))
        if M[a + P.refers]:
            readers = 0
            for n in range(count):
                if selected(M, selector, n, count):
                    readers += M[a + P.outs + count + n]
            buffers.share(M, beat, readers)
        for n in range(count):
            if selected(M, selector, n, count):
                send(M, a, M[a + P.outs + n], t, sent)
    take(M, x, t)
    M[a + P.busy_until] = IDLE
    if stop_of(beat) >= rank:
        take(M, selectors, t)
    return acted(M, t)


def build(node: Node, to: TileProgram) -> None:
    """The done beat is sent to all consumers at once; that of the selectors is consumed after it.

    In a loop there may be more selectors than chunks: the rest is dropped.
    """
    x, selectors = to.inputs(node)
    outs = to.outputs(node)
    stream, refer = node.inputs[0], [int(to.refers(s)) for s in node.outputs]
    reads = to.machine.crossbars_read and holds_tiles(stream) and rests(stream)
    size = to.element_bytes(stream) if reads else 0
    own = fresh(
        P,
        x=x,
        selectors=selectors,
        rank=node.attrs["rank"],
        ended=0,
        surplus=node.name in to.on_cycles,
        refers=any(refer),
        bytes=size,
        bandwidth=to.machine.onchip_bandwidth,
        count=len(outs),
        outs=[*outs, *refer],
    )
    actor = to.add(node, route, own, reads=[x, selectors], writes=outs, finishes=True)
    to.faults[actor] = StepError(
        f"{node.name} ({node.where}): {node.inputs[1].name} has a selector left when "
        f"{stream.name} has ended"
    )
