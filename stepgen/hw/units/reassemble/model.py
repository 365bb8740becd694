"""Cycle model of reassemble: one input at a time, in ascending order or in order of arrival."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.reassemble.params import Reassemble
from stepgen.ir.wire import BARE, DONE, VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *
from stepgen.timing.kernel import POPPED, PUSHED, note
from stepgen.timing.selector import selected

P = record(
    "y",
    "sel",
    "level",
    "arrival",
    "notes",
    "loaded",
    "current",
    "left",
    "sent",
    "remaining",
    "producers",
    "x",
)
# `loaded` is the current selector, `current` the number of the current input; `remaining` is the
# address of one word per input, 1 for the `left` inputs that are still to be read.
NOTHING = -1


@helper
def pick(M: Memory, a: int, t: int) -> None:
    """Pick the next of the remaining inputs; the current one was popped in this cycle."""
    popped, last = M[a + P.current], M[a + P.left] == 1
    M[a + P.current] = NOTHING
    for n in range(M[a + P.producers]):
        if not M[M[a + P.remaining] + n]:
            continue
        if M[a + P.arrival] and not last:
            if n == popped or ready(M, M[a + P.x + n], t) != READY:
                continue
        M[a + P.current] = n
        M[a + P.left] -= 1
        M[M[a + P.remaining] + n] = 0
        if M[a + P.arrival]:
            note(M, M[a + P.notes] + n, t)
        break


@helper
def load(M: Memory, a: int, t: int) -> int:
    """Pop the next selector if there is one."""
    wait = ready(M, M[a + P.sel], t)
    if wait != READY:
        M[a + P.loaded], M[a + P.current] = NOTHING, NOTHING
        return wait
    selector = pop(M, M[a + P.sel], t)
    M[a + P.loaded] = selector
    producers = M[a + P.producers]
    for n in range(producers):
        bit = kind_of(selector) == VALUE and selected(M, selector, n, producers) != 0
        M[M[a + P.remaining] + n] = bit
        M[a + P.left] += bit
    return READY


@step
def merge(M: Memory, a: int, t: int) -> int:
    y, level, selector = M[a + P.y], M[a + P.level], M[a + P.loaded]
    producers = M[a + P.producers]
    stop = stop_of(selector) + level + 1
    next_selector, next_chunk, looks = selector == NOTHING, False, False
    if next_selector:
        pass
    elif M[a + P.current] != NOTHING:
        x = M[a + P.x + M[a + P.current]]
        wait = can_pass(M, x, y, t)
        if wait != READY:
            return wait
        beat = head(M, x)
        if kind_of(beat) == DONE:
            return NEVER
        pop(M, x, t)
        if stop_of(beat) >= level:
            next_chunk = M[a + P.left] != 0
            next_selector = not next_chunk
        if next_selector:
            beat = make_beat(kind_of(beat), stop, low_of(beat), aux_of(beat))
        push(M, y, t, beat)
    elif M[a + P.left]:
        next_chunk = looks = True
    elif M[a + P.sent]:  # that all heads are done beats is registered: one cycle late
        for n in range(producers):
            wait = ready(M, M[a + P.x + n], t - 1)
            if wait != READY:
                return wait + 1 if wait > 0 else wait
            if kind_of(head(M, M[a + P.x + n])) != DONE:
                return NEVER
        for n in range(producers):
            pop(M, M[a + P.x + n], t)
        M[a + P.sent] = 0
        finish(M, a)
        next_selector = True
    else:
        wait = room(M, y, t)
        if wait != READY:
            return wait
        if kind_of(selector) == DONE:
            push(M, y, t, selector)
            M[a + P.sent] = 1
            return acted(M, t)
        low = low_of(selector) if kind_of(selector) == BARE else 0
        push(M, y, t, make_beat(BARE, stop, low + level + 1, 0))
        next_selector = True
    if next_selector:
        wait = load(M, a, t)
        if wait != READY:
            return wait if selector == NOTHING else acted(M, t)
    if next_selector or next_chunk:
        pick(M, a, t)
    if looks and M[a + P.current] == NOTHING:
        for n in range(producers):
            x = M[a + P.x + n]
            if M[M[a + P.remaining] + n] and M[x + PUSHED] > M[x + POPPED]:
                return t + 1
        return ANY
    return acted(M, t)


def build(unit: Unit, params: Reassemble, layout: DesignLayout) -> None:
    """One actor for all inputs; in order of arrival it notes which input it picked."""
    xs = [layout.channel(unit.inputs[port]) for port in params.xs]
    sel, y = layout.channel(unit.inputs["sel"]), layout.channel(unit.outputs["y"])
    arrival = params.order == "arrival"
    notes = [layout.note(unit.name, n) for n in range(params.producers)] if arrival else [0]
    own = packed(
        P,
        y=y,
        sel=sel,
        level=params.level,
        arrival=arrival,
        notes=notes[0],
        loaded=NOTHING,
        current=NOTHING,
        left=0,
        sent=0,
        remaining=layout.reserve([0] * params.producers),
        producers=params.producers,
        x=xs,
    )
    layout.actor(unit.name, "merge", merge, own, reads=[*xs, sel], writes=[y], finishes=True)
