"""partition: one element per cycle, to all consumers that its selector names."""

from ....ir.errors import StepError
from ....ir.stream import Node
from ...kernel import finish
from ...selector import selected
from .. import buffers
from ..actor import (
    BARE,
    BUSY_UNTIL,
    FAULT,
    IDLE,
    NEVER,
    PORTS,
    READY,
    VALUE,
    acted,
    area,
    aux_of,
    head,
    is_done,
    kind_of,
    later,
    low_of,
    make_beat,
    ready,
    room,
    send,
    step,
    stop_of,
    take,
)
from ..program import Program, holds_buffers
from ..streams import holds_tiles, rests

IN, SELECTOR, RANK, ENDED, SURPLUS, OF_BUFFERS, BYTES, BANDWIDTH = range(PORTS, PORTS + 8)
COUNT, OUTS = range(PORTS + 8, PORTS + 10)


@step
def route(M, a, t):  # type: ignore[no-untyped-def]
    x, selectors, rank, count = M[a + IN], M[a + SELECTOR], M[a + RANK], M[a + COUNT]
    if M[a + ENDED]:
        wait = ready(M, selectors, t)
        if wait != READY:
            return wait
        if is_done(take(M, selectors, t)):
            finish(M, a)
            return NEVER
        if not M[a + SURPLUS]:
            M[FAULT] = a
            return NEVER
        return acted(M, t)
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    if is_done(beat):
        for n in range(count):
            wait = room(M, M[a + OUTS + n], t)
            if wait != READY:
                return wait
        for n in range(count):
            send(M, a, M[a + OUTS + n], t, beat)
        take(M, x, t)
        M[a + ENDED] = 1
        return acted(M, t)
    wait = ready(M, selectors, t)
    if wait != READY:
        return wait
    selector = head(M, selectors)
    if M[a + BYTES] and kind_of(beat) == VALUE:
        if M[a + BUSY_UNTIL] == IDLE:
            read = M[a + BYTES] * area(aux_of(beat))
            M[a + BUSY_UNTIL] = t + (read + M[a + BANDWIDTH] - 1) // M[a + BANDWIDTH]
        if t < M[a + BUSY_UNTIL]:
            return later(M, t, M[a + BUSY_UNTIL])
    if kind_of(beat) != BARE or low_of(beat) <= rank:
        for n in range(count):
            if selected(M, selector, n, count):
                wait = room(M, M[a + OUTS + n], t)
                if wait != READY:
                    return wait
        sent = make_beat(kind_of(beat), min(stop_of(beat), rank), low_of(beat), aux_of(beat))
        if M[a + OF_BUFFERS]:
            readers = 0
            for n in range(count):
                readers += selected(M, selector, n, count)
            buffers.share(M, beat, readers)
        for n in range(count):
            if selected(M, selector, n, count):
                send(M, a, M[a + OUTS + n], t, sent)
    take(M, x, t)
    M[a + BUSY_UNTIL] = IDLE
    if stop_of(beat) >= rank:
        take(M, selectors, t)
    return acted(M, t)


def build(node: Node, to: Program) -> None:
    """The end goes to all consumers as soon as the elements end; that of the selectors follows.

    On a cycle selectors may outnumber the chunks: what is left over is dropped.
    """
    x, selectors = to.inputs(node)
    outs = to.outputs(node)
    stream = node.inputs[0]
    reads = to.machine.crossbars_read and holds_tiles(stream) and rests(stream)
    size = to.element_bytes(stream) if reads else 0
    own = [x, selectors, node.attrs["rank"], 0, node.name in to.on_cycles, holds_buffers(stream)]
    own += [size, to.machine.onchip_bandwidth, len(outs), *outs]
    actor = to.add(node, route, own, reads=[x, selectors], writes=outs, finishes=True)
    to.faults[actor] = StepError(
        f"{node.name} ({node.where}): {node.inputs[1].name} has a selector left when "
        f"{stream.name} has ended"
    )
