"""Cycle model of accumulate: a beat is folded when the sum that it needs is there."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.accumulate.params import Accumulate
from stepgen.ir.wire import BARE, DONE, TILE_LEVELS, VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *
from stepgen.timing.kernel import FULL_OUTPUT, REASON

# `made` is the address of the cycles in which the first `loop` words of the state were last
# updated: only of those can an update still be under way when the word is needed again.
# `first` is 1 in the first tile of a chunk, `index` the number of the beat in its tile, `size` the
# beats of the first tile.
# While `sending` is 1 the state of a chunk leaves: word `sent` of `left` ones, `blank` if no tile
# was folded, the last one with `stop`.
P = record(
    "y",
    "level",
    "slices",
    "whole",
    "loop",
    "made",
    "first",
    "index",
    "size",
    "sending",
    "sent",
    "left",
    "blank",
    "stop",
    "operands",
    "x",
)
# The operands' channels lie one after the other from `x`.
BLOCKED = -3
"""Waits for the state before to leave."""


@helper
def known(M: Memory, a: int, word: int, t: int) -> int:
    """`READY` if no update of a word is under way in cycle `t`, else the cycle of its end."""
    if word >= M[a + P.loop]:
        return READY
    done = M[M[a + P.made] + word] + M[a + P.loop]
    return READY if done <= t else done


@helper
def operands_ready(M: Memory, a: int, t: int) -> int:
    """`READY` if a beat of every operand is there, else what to wait for."""
    for n in range(M[a + P.operands]):
        wait = ready(M, M[a + P.x + n], t)
        if wait != READY:
            return wait
    return READY


@helper
def update(M: Memory, a: int, t: int) -> int:
    """Take a beat of every operand; a value updates its word."""
    for n in range(1, M[a + P.operands]):
        pop(M, M[a + P.x + n], t)
    beat = pop(M, M[a + P.x], t)
    index = M[a + P.index]
    if kind_of(beat) == VALUE:
        if index < M[a + P.loop]:
            M[M[a + P.made] + index] = t
        M[a + P.index] = index + 1
    if stop_of(beat) >= TILE_LEVELS and (kind_of(beat) == VALUE or low_of(beat) == TILE_LEVELS):
        if M[a + P.first]:
            M[a + P.size] = M[a + P.index]
        M[a + P.first] = 0
        M[a + P.index] = 0
    return beat


@step
def scan(M: Memory, a: int, t: int) -> int:
    wait = operands_ready(M, a, t)
    if wait != READY:
        return wait
    beat = head(M, M[a + P.x])
    wait = room(M, M[a + P.y], t)
    if wait != READY:
        return wait
    if kind_of(beat) == VALUE and not M[a + P.first]:
        wait = known(M, a, M[a + P.index], t)
        if wait != READY:
            return wait
    push(M, M[a + P.y], t, update(M, a, t))
    if stop_of(beat) >= M[a + P.level]:
        M[a + P.first] = 1
    return acted(M, t)


@helper
def may_send(M: Memory, a: int, t: int) -> int:
    """`READY` if a word of the finished state can leave, else what to wait for."""
    wait = room(M, M[a + P.y], t)
    if wait != READY or M[a + P.left] == 0 or M[a + P.blank]:
        return wait
    return known(M, a, M[a + P.sent], t)


@helper
def send(M: Memory, a: int, t: int) -> None:
    """Send the next word of the finished state."""
    sent, left, stop = M[a + P.sent] + 1, M[a + P.left], M[a + P.stop]
    if left == 0:
        push(M, M[a + P.y], t, make_beat(BARE, stop, TILE_LEVELS, 0))
    elif sent == left:
        push(M, M[a + P.y], t, make_beat(VALUE, stop, 0, 0))
    else:
        push(M, M[a + P.y], t, make_beat(VALUE, 1 if sent % M[a + P.slices] == 0 else 0, 0, 0))
    M[a + P.sent] = sent
    M[a + P.sending] = 1 if sent < left else 0


@helper
def may_take(M: Memory, a: int, t: int, sends: int) -> int:
    """`READY` if the next beat can be taken, else what to wait for.

    `sends`: a word of the state before leaves in the same cycle.
    """
    wait = operands_ready(M, a, t)
    if wait != READY:
        return wait
    beat = head(M, M[a + P.x])
    kind, sending = kind_of(beat), M[a + P.sending]
    if kind == DONE or (kind == BARE and low_of(beat) > M[a + P.level]):
        return BLOCKED if sending else room(M, M[a + P.y], t)
    if sending and stop_of(beat) >= M[a + P.level]:
        if not sends or M[a + P.sent] + 1 < M[a + P.left]:
            return BLOCKED
    if kind == BARE:
        return READY
    if M[a + P.first]:
        return BLOCKED if sending and not sends and M[a + P.index] == M[a + P.sent] else READY
    return BLOCKED if sending else known(M, a, M[a + P.index], t)


@helper
def take(M: Memory, a: int, t: int) -> None:
    """Take the next beat; the last one of a chunk has its state sent."""
    beat = update(M, a, t)
    kind, stop, low, level = kind_of(beat), stop_of(beat), low_of(beat), M[a + P.level]
    lowered = level - TILE_LEVELS
    if kind == DONE:
        push(M, M[a + P.y], t, beat)
    elif kind == BARE and low > level:
        push(M, M[a + P.y], t, make_beat(BARE, stop - lowered, low - lowered, 0))
    elif stop >= level:
        M[a + P.blank] = M[a + P.first]
        M[a + P.left] = M[a + P.whole] if M[a + P.first] else M[a + P.size]
        M[a + P.stop] = stop - lowered
        M[a + P.sending] = 1
        M[a + P.sent] = 0
        M[a + P.first] = 1


@step
def fold(M: Memory, a: int, t: int) -> int:
    before = READY
    sends = 0
    if M[a + P.sending]:
        before = may_send(M, a, t)
        sends = 1 if before == READY else 0
    full = M[REASON] == FULL_OUTPUT
    wait = may_take(M, a, t, sends)
    if sends:
        send(M, a, t)
    if wait == READY:
        take(M, a, t)
    if sends or wait == READY:
        return acted(M, t)
    if before == READY:
        return wait
    if full:
        M[REASON] = FULL_OUTPUT
    if wait == BLOCKED:
        return before
    return ANY if wait < 0 and before < 0 else t + 1


def build(unit: Unit, params: Accumulate, layout: DesignLayout) -> None:
    """One actor: while a finished state leaves, the first tile of the next chunk is taken."""
    x = [layout.channel(name) for name in unit.inputs.values()]
    y, loop = layout.channel(unit.outputs["y"]), params.pipeline.loop
    layout.horizon = max(layout.horizon, loop + 2)
    own = packed(
        P,
        y=y,
        level=params.level,
        slices=params.slices,
        whole=params.whole,
        loop=loop,
        made=layout.reserve([-loop] * loop),
        first=1,
        index=0,
        size=0,
        sending=0,
        sent=0,
        left=0,
        blank=0,
        stop=0,
        operands=len(x),
        x=x,
    )
    layout.actor(unit.name, "update", scan if params.every else fold, own, reads=x, writes=[y])
