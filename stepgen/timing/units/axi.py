"""Timing of the AXI4 master and of the off-chip memory behind it.

The memory is no part of the design: its rules are in ``docs/memory-timing.md``, and
``sim/verilator/axi_memory.sv`` is the same memory as a circuit. The master is wires, so a handshake
on the bus is a pop or a push of one of its channels.
"""

from __future__ import annotations

from ...compile.design import Unit
from ...ir.stalls import stalled
from ..kernel import (
    FULL_OUTPUT,
    OWN,
    READY,
    REASON,
    acted,
    head,
    held_back,
    pop,
    push,
    ready,
    room,
    step,
)
from ..laid_out import LaidOut

IN, OUT, KEY, THRESHOLD = range(OWN, OWN + 4)
UNDER_WAY = OWN + 4
INTERVAL, NEXT_TIME, MOVED = OWN + 4, OWN + 5, OWN + 6
TURNS = OWN + 6


@step
def accept_read(M, a, t):  # type: ignore[no-untyped-def]
    wait = ready(M, M[a + IN], t)
    if wait != READY:
        return wait
    wait = room(M, M[a + OUT], t)
    if wait != READY:
        return wait
    if stalled(M[a + KEY], M[a + THRESHOLD], t):
        return held_back(M, t)
    push(M, M[a + OUT], t, pop(M, M[a + IN], t))
    return acted(M, t)


@step
def read(M, a, t):  # type: ignore[no-untyped-def]
    wait = ready(M, M[a + IN], t)
    if wait != READY:
        return wait
    if t < M[a + NEXT_TIME]:
        M[REASON] = FULL_OUTPUT
        return M[a + NEXT_TIME]
    if stalled(M[a + KEY], M[a + THRESHOLD], t):
        return held_back(M, t)
    M[a + MOVED] += 1
    last = M[a + MOVED] == head(M, M[a + IN])
    push(M, M[a + OUT], t, last)
    if last:
        pop(M, M[a + IN], t)
        M[a + MOVED] = 0
    M[a + NEXT_TIME] = t + M[a + INTERVAL]
    return acted(M, t)


@step
def accept_write(M, a, t):  # type: ignore[no-untyped-def]
    wait = ready(M, M[a + IN], t)
    if wait != READY:
        return wait
    wait = room(M, M[a + UNDER_WAY], t)
    if wait != READY:
        return wait
    if stalled(M[a + KEY], M[a + THRESHOLD], t):
        return held_back(M, t)
    push(M, M[a + OUT], t, pop(M, M[a + IN], t))
    push(M, M[a + UNDER_WAY], t, 0)
    return acted(M, t)


@step
def write(M, a, t):  # type: ignore[no-untyped-def]
    wait = ready(M, M[a + IN], t)
    if wait != READY:
        return wait
    wait = ready(M, M[a + TURNS], t)
    if wait != READY:
        return wait
    if t < M[a + NEXT_TIME]:
        M[REASON] = FULL_OUTPUT
        return M[a + NEXT_TIME]
    if stalled(M[a + KEY], M[a + THRESHOLD], t):
        return held_back(M, t)
    if pop(M, M[a + IN], t):
        pop(M, M[a + TURNS], t)
        push(M, M[a + OUT], t, 0)
    M[a + NEXT_TIME] = t + M[a + INTERVAL]
    return acted(M, t)


@step
def answer(M, a, t):  # type: ignore[no-untyped-def]
    wait = ready(M, M[a + IN], t)
    if wait != READY:
        return wait
    if stalled(M[a + KEY], M[a + THRESHOLD], t):
        return held_back(M, t)
    pop(M, M[a + IN], t)
    pop(M, M[a + UNDER_WAY], t)
    push(M, M[a + OUT], t, 0)
    return acted(M, t)


def build(unit: Unit, machine: LaidOut) -> None:
    """One actor per channel of the bus; the design sees to it that ``r`` and ``b`` have room."""
    timing, stalls = machine.memory, machine.stalls
    machine.horizon = max(machine.horizon, timing.read_interval + 2, timing.write_interval + 2)
    down, up = (iter([machine.channel(n) for n in names]) for names in (unit.inputs, unit.outputs))

    if unit.params["reads"]:
        ar, r = next(down), next(up)
        bursts = machine.internal(
            f"{unit.name}.reads", timing.read_outstanding, timing.read_latency
        )
        machine.actor(
            unit.name,
            "accept read",
            accept_read,
            [ar, bursts, *stalls.of("mem.ar")],
            reads=[ar],
            writes=[bursts],
        )
        machine.actor(
            unit.name,
            "read",
            read,
            [bursts, r, *stalls.of("mem.r"), timing.read_interval, 0, 0],
            reads=[bursts],
            writes=[r],
        )
    if unit.params["writes"]:
        aw, w, b = next(down), next(down), next(up)
        depth = timing.write_outstanding
        under_way = machine.internal(f"{unit.name}.writes", depth)
        turns = machine.internal(f"{unit.name}.turns", depth)
        written = machine.internal(f"{unit.name}.written", depth, timing.write_latency)
        machine.actor(
            unit.name,
            "accept write",
            accept_write,
            [aw, turns, *stalls.of("mem.aw"), under_way],
            reads=[aw],
            writes=[turns, under_way],
        )
        machine.actor(
            unit.name,
            "write",
            write,
            [w, written, *stalls.of("mem.w"), timing.write_interval, 0, turns],
            reads=[w, turns],
            writes=[written],
        )
        machine.actor(
            unit.name,
            "answer",
            answer,
            [written, b, *stalls.of("mem.b"), under_way],
            reads=[written, under_way],
            writes=[b],
        )
