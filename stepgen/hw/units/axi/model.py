"""Cycle model of the AXI4 master and of the off-chip memory behind it.

The memory is not part of the design: its rules are in ``docs/memory-timing.md``. Simulations serve
them cycle by cycle (``stepgen/drivers/memory_timing.py``, ``sim/verilator/axi_memory.sv``); here
they are step functions, which say when they act next. The master is combinational, so a handshake
on the bus is a pop or a push of one of its channels.
"""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.axi.params import Axi
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.sdram_timing import SdramTiming
from stepgen.ir.stalls import stalled
from stepgen.timing.bursts import burst_length
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *
from stepgen.timing.kernel import FULL_OUTPUT, REASON
from stepgen.timing.sdram import build_sdram

ACCEPT_READ = record("ar", "bursts", "key", "threshold")
READ = record("bursts", "r", "key", "threshold", "interval", "next_time", "moved", "offered")
ACCEPT_WRITE = record("aw", "under_way", "turns", "key", "threshold")
WRITE = record("w", "turns", "written", "key", "threshold", "interval", "next_time")
ANSWER = record("written", "under_way", "b", "key", "threshold")


@step
def accept_read(M: Memory, a: int, t: int) -> int:
    P = ACCEPT_READ
    wait = can_pass(M, M[a + P.ar], M[a + P.bursts], t)
    if wait != READY:
        return wait
    if stalled(M[a + P.key], M[a + P.threshold], t):
        return held_back(M, t)
    push(M, M[a + P.bursts], t, pop(M, M[a + P.ar], t))
    return acted(M, t)


@step
def read(M: Memory, a: int, t: int) -> int:
    P = READ
    wait = ready(M, M[a + P.bursts], t)
    if wait != READY:
        return wait
    next_time: int = M[a + P.next_time]
    if t < next_time:
        M[REASON] = FULL_OUTPUT
        return within_reach(M, next_time, t)
    if not M[a + P.offered] and stalled(M[a + P.key], M[a + P.threshold], t):
        return held_back(M, t)
    M[a + P.offered] = 1
    wait = room(M, M[a + P.r], t)
    if wait != READY:
        return wait
    M[a + P.offered] = 0
    M[a + P.moved] += 1
    last = M[a + P.moved] == burst_length(head(M, M[a + P.bursts]))
    push(M, M[a + P.r], t, last)
    if last:
        pop(M, M[a + P.bursts], t)
        M[a + P.moved] = 0
    M[a + P.next_time] = t + M[a + P.interval]
    return acted(M, t)


@step
def accept_write(M: Memory, a: int, t: int) -> int:
    P = ACCEPT_WRITE
    wait = can_pass(M, M[a + P.aw], M[a + P.under_way], t)
    if wait != READY:
        return wait
    if stalled(M[a + P.key], M[a + P.threshold], t):
        return held_back(M, t)
    push(M, M[a + P.turns], t, pop(M, M[a + P.aw], t))
    push(M, M[a + P.under_way], t, 0)
    return acted(M, t)


@step
def write(M: Memory, a: int, t: int) -> int:
    P = WRITE
    wait = ready(M, M[a + P.w], t)
    if wait != READY:
        return wait
    wait = ready(M, M[a + P.turns], t)
    if wait != READY:
        return wait
    next_time: int = M[a + P.next_time]
    if t < next_time:
        M[REASON] = FULL_OUTPUT
        return within_reach(M, next_time, t)
    if stalled(M[a + P.key], M[a + P.threshold], t):
        return held_back(M, t)
    if pop(M, M[a + P.w], t):
        pop(M, M[a + P.turns], t)
        push(M, M[a + P.written], t, 0)
    M[a + P.next_time] = t + M[a + P.interval]
    return acted(M, t)


@step
def answer(M: Memory, a: int, t: int) -> int:
    P = ANSWER
    wait = ready(M, M[a + P.written], t)
    if wait != READY:
        return wait
    if stalled(M[a + P.key], M[a + P.threshold], t):
        return held_back(M, t)
    pop(M, M[a + P.written], t)
    pop(M, M[a + P.under_way], t)
    push(M, M[a + P.b], t, 0)
    return acted(M, t)


def build(unit: Unit, params: Axi, layout: DesignLayout) -> None:
    """One actor per channel of the bus, or an SDRAM; the arbiter guarantees space for ``b``."""
    timing = layout.run.memory
    if isinstance(timing, SdramTiming):
        channels = {port: layout.channel(name) for port, name in unit.inputs.items()}
        channels |= {port: layout.channel(name) for port, name in unit.outputs.items()}
        build_sdram(unit.name, layout, timing, layout.design.bus, channels)
        return
    layout.reach(max(timing.read_interval, timing.write_interval))
    if params.reads:
        build_reads(unit, timing, layout)
    if params.writes:
        build_writes(unit, timing, layout)


def build_reads(unit: Unit, timing: MemoryTiming, layout: DesignLayout) -> None:
    """The actors at ``ar`` and ``r``."""
    ar, r = layout.channel(unit.inputs["ar"]), layout.channel(unit.outputs["r"])
    bursts = layout.internal(f"{unit.name}.reads", timing.read_outstanding, timing.read_latency)
    key, threshold = layout.run.stalls.of("mem.ar")
    layout.actor(
        unit.name,
        "accept read",
        accept_read,
        packed(ACCEPT_READ, ar=ar, bursts=bursts, key=key, threshold=threshold),
        reads=[ar],
        writes=[bursts],
    )
    key, threshold = layout.run.stalls.of("mem.r")
    own = packed(
        READ,
        bursts=bursts,
        r=r,
        key=key,
        threshold=threshold,
        interval=timing.read_interval,
        next_time=0,
        moved=0,
        offered=0,
    )
    layout.actor(unit.name, "read", read, own, reads=[bursts], writes=[r])


def build_writes(unit: Unit, timing: MemoryTiming, layout: DesignLayout) -> None:
    """The actors at ``aw``, ``w`` and ``b``."""
    aw, w = (layout.channel(unit.inputs[port]) for port in ("aw", "w"))
    b = layout.channel(unit.outputs["b"])
    depth = timing.write_outstanding
    under_way = layout.internal(f"{unit.name}.writes", depth)
    turns = layout.internal(f"{unit.name}.turns", depth)
    written = layout.internal(f"{unit.name}.written", depth, timing.write_latency)
    key, threshold = layout.run.stalls.of("mem.aw")
    own = packed(
        ACCEPT_WRITE, aw=aw, under_way=under_way, turns=turns, key=key, threshold=threshold
    )
    layout.actor(
        unit.name, "accept write", accept_write, own, reads=[aw], writes=[turns, under_way]
    )
    key, threshold = layout.run.stalls.of("mem.w")
    own = packed(
        WRITE,
        w=w,
        turns=turns,
        written=written,
        key=key,
        threshold=threshold,
        interval=timing.write_interval,
        next_time=0,
    )
    layout.actor(unit.name, "write", write, own, reads=[w, turns], writes=[written])
    key, threshold = layout.run.stalls.of("mem.b")
    own = packed(ANSWER, written=written, under_way=under_way, b=b, key=key, threshold=threshold)
    layout.actor(unit.name, "answer", answer, own, reads=[written, under_way], writes=[b])
