"""Timing of a store: words, bursts and their acknowledgements."""

from __future__ import annotations

from ...compile.design import Unit
from ...compile.units.axi import burst
from ...compile.units.store import bursts_ahead
from ...ir.wire import DONE, VALUE
from ..kernel import (
    OWN,
    READY,
    acted,
    finish,
    head,
    kind_of,
    pop,
    push,
    ready,
    room,
    step,
)
from ..laid_out import LaidOut

IN, WREQ, WDATA, BURSTS, BURST, PLACE, COUNT, LEFT = range(OWN, OWN + 8)
BEATS_PER_WORD, WORDS_PER_BEAT, PART = range(OWN + 8, OWN + 11)
WAITS, ENDS = 1, 2


@step
def pack(M, a, t):  # type: ignore[no-untyped-def]
    x = M[a + IN]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    kind = kind_of(head(M, x))
    value = kind == VALUE and M[a + LEFT] > 0
    ends = kind == DONE
    part = M[a + PART] + 1
    used = part % M[a + WORDS_PER_BEAT] == 0
    word = part % M[a + BEATS_PER_WORD] == 0 if value else ends and part > 1
    request = word and value and M[a + PLACE] + 1 == M[a + BURST]
    if ends and (word or M[a + COUNT] > 0):
        request = True
    for c in (M[a + WDATA], M[a + WREQ], M[a + BURSTS]):
        wait = room(M, c, t)
        if wait != READY:
            return wait
    if request or ends:
        push(M, M[a + BURSTS], t, (WAITS if request else 0) | (ENDS if ends else 0))
    if word:
        push(M, M[a + WDATA], t, 0)
        M[a + COUNT] += 1
        M[a + PLACE] += 1
    if request:
        push(M, M[a + WREQ], t, M[a + COUNT])
        M[a + COUNT] = 0
        M[a + PLACE] = 0
    if value:
        M[a + PART] = 0 if used and word else part
        if used:
            M[a + LEFT] -= 1
    if used or not value:
        pop(M, x, t)
    return acted(M, t)


QUEUE, ACK = OWN, OWN + 1


@step
def settle(M, a, t):  # type: ignore[no-untyped-def]
    wait = ready(M, M[a + QUEUE], t)
    if wait != READY:
        return wait
    burst = head(M, M[a + QUEUE])
    if burst & WAITS:
        wait = ready(M, M[a + ACK], t)
        if wait != READY:
            return wait
        pop(M, M[a + ACK], t)
    pop(M, M[a + QUEUE], t)
    if burst & ENDS:
        finish(M, a)
    return acted(M, t)


def build(unit: Unit, machine: LaidOut) -> None:
    """Two actors; the run lasts until the last acknowledgement."""
    bus, design = machine.design.bus, machine.design
    x, ack = (machine.channel(name) for name in unit.inputs)
    wreq, wdata = (machine.channel(name) for name in unit.outputs)
    bursts = machine.internal(f"{unit.name}.bursts", bursts_ahead(bus))
    channel = design.channel[unit.inputs[0]]
    beat_bits, word_bits = channel.lanes * channel.bits, bus.data_bits
    longest = burst(bus, design.channel[unit.outputs[1]].depth)
    machine.actor(
        unit.name,
        "pack",
        pack,
        [
            *(x, wreq, wdata, bursts, longest, unit.params["base"] // bus.bytes % longest, 0),
            8 * unit.params["size"] // beat_bits,
            *(max(1, word_bits // beat_bits), max(1, beat_bits // word_bits), 0),
        ],
        reads=[x],
        writes=[wreq, wdata, bursts],
    )
    machine.actor(
        unit.name, "settle", settle, [bursts, ack], reads=[bursts, ack], writes=[], finishes=True
    )
