"""Cycle model of a load: trigger, address generator, credits, and words to beats."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.axi.params import burst
from stepgen.hw.units.load.params import Load
from stepgen.ir.wire import BARE, DONE, VALUE
from stepgen.timing.bursts import first_word, make_burst
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.granting import build_grant
from stepgen.timing.kernel import *
from stepgen.timing.look_up import build_look_up

WATCH = record("ref", "go", "closes", "level", "whole", "inside")
SEEK = record("starts", "bursts", "length", "word", "burst", "first", "address", "left")
WALK = record(
    "go", "gone", "bursts", "base", "length", "word", "burst", "first", "start", "address", "left",
    "loop_count", "loops",
)  # fmt: skip
EMIT = record(
    "data", "out", "closes", "pass_level", "ref_level", "inside", "ended", "prompt", "owed",
    "placed", "packed", "known", "word", "full", "last", "realigns", "start", "at", "holds", "done",
    "run_dims", "dim_count", "dims",
)  # fmt: skip

LOOP_EXTENT, LOOP_JUMP, LOOP_COUNT = range(3)
LOOP_SIZE = 3
"""Words of the record of one loop."""

DIM_EXTENT, DIM_JUMP, DIM_COUNT = range(3)
DIM_SIZE = 3
"""Words of the record of one dim."""

NO_CHANNEL = 0
SPACE = 1 << 56
"""Bytes of the addresses that the model distinguishes."""


@step
def watch(M: Memory, a: int, t: int) -> int:
    P = WATCH
    wait = ready(M, M[a + P.ref], t)
    if wait != READY:
        return wait
    beat = head(M, M[a + P.ref])
    kind, level = kind_of(beat), M[a + P.level]
    part = kind == VALUE or (kind == BARE and low_of(beat) <= level)
    last = not part or stop_of(beat) >= level
    first = part and (last if M[a + P.whole] else not M[a + P.inside])
    if first:
        wait = room(M, M[a + P.go], t)
        if wait != READY:
            return wait
    if last:
        wait = room(M, M[a + P.closes], t)
        if wait != READY:
            return wait
    pop(M, M[a + P.ref], t)
    if first:
        push(M, M[a + P.go], t, 0)
    if last:
        closes = make_beat(VALUE if part else kind, stop_of(beat), low_of(beat), 0)
        push(M, M[a + P.closes], t, closes)
    M[a + P.inside] = not last
    return acted(M, t)


@step
def seek(M: Memory, a: int, t: int) -> int:
    P = SEEK
    starts, bursts, word = M[a + P.starts], M[a + P.bursts], M[a + P.word]
    pushed = M[a + P.left] > 0
    if pushed:
        wait = room(M, bursts, t)
        if wait != READY:
            return wait
        length = min(M[a + P.burst] - M[a + P.address] % M[a + P.burst], M[a + P.left])
        push(M, bursts, t, make_burst(M[a + P.first] + M[a + P.address], length))
        M[a + P.address] += length
        M[a + P.left] -= length
        if M[a + P.left]:
            return acted(M, t)
    wait = ready(M, starts, t)
    if wait != READY:
        return acted(M, t) if pushed else wait
    start = pop(M, starts, t)
    M[a + P.address] = start // word
    M[a + P.left] = (start % word + M[a + P.length] + word - 1) // word
    return acted(M, t)


@step
def go_through(M: Memory, a: int, t: int) -> int:
    P = WALK
    go = M[a + P.go]
    if go != NO_CHANNEL:
        wait = ready(M, go, t)
        if wait != READY:
            return wait
    elif M[a + P.gone]:
        return NEVER
    wait = room(M, M[a + P.bursts], t)
    if wait != READY:
        return wait
    length = min(M[a + P.burst] - M[a + P.address] % M[a + P.burst], M[a + P.left])
    push(M, M[a + P.bursts], t, make_burst(M[a + P.first] + M[a + P.address], length))
    M[a + P.address] += length
    M[a + P.left] -= length
    if M[a + P.left]:
        return acted(M, t)
    start, ended = M[a + P.base], True
    for n in range(M[a + P.loop_count]):
        loop = a + P.loops + LOOP_SIZE * n
        M[loop + LOOP_COUNT] += 1
        if M[loop + LOOP_COUNT] < M[loop + LOOP_EXTENT]:
            start, ended = (M[a + P.start] + M[loop + LOOP_JUMP]) % SPACE, False
            break
        M[loop + LOOP_COUNT] = 0
    word = M[a + P.word]
    M[a + P.start], M[a + P.address] = start, start // word
    M[a + P.left] = (start % word + M[a + P.length] + word - 1) // word
    if ended:
        M[a + P.gone] = True
        if go != NO_CHANNEL:
            pop(M, go, t)
    return acted(M, t)


@step
def emit(M: Memory, a: int, t: int) -> int:
    P = EMIT
    data, out, closes = M[a + P.data], M[a + P.out], M[a + P.closes]
    if M[a + P.ended]:
        wait = room(M, out, t)
        if wait != READY:
            return wait
        push(M, out, t, make_beat(DONE, 0, 0, 0))
        M[a + P.ended] = False
        return acted(M, t)
    if M[a + P.owed]:
        wait = ready(M, closes, t)
        if wait != READY:
            return wait
        pop(M, closes, t)
        M[a + P.owed] = False
        return acted(M, t)
    seen = ready(M, data, t)
    if closes != NO_CHANNEL and not M[a + P.inside]:
        known = ready(M, closes, t)
        if known == READY and kind_of(head(M, closes)) != VALUE:
            wait = room(M, out, t)
            if wait != READY:
                return wait
            beat = pop(M, closes, t)
            if kind_of(beat) == BARE:
                raised = M[a + P.pass_level] - M[a + P.ref_level]
                beat = make_beat(BARE, stop_of(beat) + raised, low_of(beat) + raised, 0)
            push(M, out, t, beat)
            return acted(M, t)
        if seen != READY:
            return ANY if seen < 0 and known <= 0 else t + 1
    # The next bytes of the beat, at a place in the word that is held or at the head.
    word, at, holds = M[a + P.word], M[a + P.at], M[a + P.holds]
    if M[a + P.placed] and not M[a + P.inside]:
        at = aux_of(head(M, closes)) * M[a + P.packed]  # it comes before any word of its tile
    row_ends = M[a + P.dims + DIM_COUNT] + 1 == M[a + P.dims + DIM_EXTENT]
    left = (M[a + P.last] if row_ends else M[a + P.full]) - M[a + P.done]
    end = at + min(left, word)
    takes = not holds or end > word
    if takes and seen != READY:
        return seen
    if not holds and end > word:
        pop(M, data, t)
        M[a + P.at] = at
        M[a + P.holds] = M[a + P.inside] = True
        return acted(M, t)
    pops = takes if M[a + P.realigns] else end == word
    if left > word:
        if pops:
            pop(M, data, t)
        M[a + P.done] += word
        M[a + P.at] = end % word
        M[a + P.holds] = M[a + P.realigns] and end % word > 0
        M[a + P.inside] = True
        return acted(M, t)

    ended = 0
    while ended < M[a + P.dim_count]:
        dim = a + P.dims + DIM_SIZE * ended
        if M[dim + DIM_COUNT] + 1 < M[dim + DIM_EXTENT]:
            break
        ended += 1
    stop, last = ended, ended == M[a + P.dim_count]
    if last:
        stop = M[a + P.pass_level]
        if closes != NO_CHANNEL and not M[a + P.prompt]:
            wait = ready(M, closes, t)
            if wait != READY:
                return wait
            stop += stop_of(head(M, closes)) - M[a + P.ref_level]
    wait = room(M, out, t)
    if wait != READY:
        return wait
    known = 0
    if M[a + P.known]:
        known = M[M[a + P.known]]
        M[a + P.known] += 1
    push(M, out, t, make_beat(VALUE, stop, 0, known))
    for n in range(M[a + P.dim_count]):
        dim = a + P.dims + DIM_SIZE * n
        M[dim + DIM_COUNT] += 1
        if M[dim + DIM_COUNT] < M[dim + DIM_EXTENT]:
            break
        M[dim + DIM_COUNT] = 0
    if pops:
        pop(M, data, t)
    M[a + P.done], M[a + P.at] = 0, end % word
    M[a + P.holds] = M[a + P.realigns] and end % word > 0
    if ended >= M[a + P.run_dims]:  # what is left of the word belongs to no run
        jump = 0 if last else M[a + P.start] + M[a + P.dims + DIM_SIZE * ended + DIM_JUMP]
        M[a + P.start], M[a + P.at] = jump % word, jump % word
        M[a + P.holds] = False
    M[a + P.inside] = not last
    if last:
        if closes == NO_CHANNEL:
            M[a + P.ended] = True
        elif ready(M, closes, t) == READY:
            pop(M, closes, t)
        else:
            M[a + P.owed] = True
    return acted(M, t)


def build(unit: Unit, params: Load, layout: DesignLayout) -> None:
    """Up to four actors, joined by internal queues."""
    design = layout.design
    bus, depth = design.bus, design.channel[unit.inputs["data"]].depth
    data = layout.channel(unit.inputs["data"])
    out = layout.channel(unit.outputs["out"])
    queue = params.bursts(bus)
    bursts = layout.internal(f"{unit.name}.bursts", queue.depth, queue.latency)
    closes = NO_CHANNEL
    if params.ref_level is not None:
        queue = params.closes(unit, design)
        closes = layout.internal(f"{unit.name}.closes", queue.depth, queue.latency)
    (build_seek if params.tiles else build_walk)(unit, params, layout, bursts, closes)
    build_grant(unit, layout, bursts, params.longest_burst(bus, depth))

    gear, levels, walk = params.gear, params.levels, params.walk
    word = params.word_parts(bus)
    jumps = {} if params.tiles else dict(zip(walk.levels, walk.jumps, strict=True))
    jumps = {level: jump * params.packed % word for level, jump in jumps.items()}
    own = packed(
        EMIT,
        data=data,
        out=out,
        closes=closes,
        pass_level=params.pass_level,
        ref_level=params.ref_level or 0,
        inside=False,
        ended=False,
        prompt=params.prompt,
        owed=False,
        placed=params.tiles > 0,
        packed=params.packed,
        known=layout.decided(unit) if params.decides else 0,
        word=word,
        full=gear.full,
        last=gear.last,
        realigns=params.realigns(bus),
        start=0,
        at=0,
        holds=False,
        done=0,
        run_dims=min(jumps, default=len(levels)),
        dim_count=len(levels),
        dims=[n for k, extent in enumerate(levels or (1,)) for n in (extent, jumps.get(k, 0), 0)],
    )
    reads = [data, *([closes] if closes else [])]
    layout.actor(unit.name, "emit", emit, own, reads=reads, writes=[out])


def build_walk(unit: Unit, params: Load, layout: DesignLayout, bursts: int, closes: int) -> None:
    """The address generator of an affine read, and what triggers it."""
    bus = layout.design.bus
    go = NO_CHANNEL
    if params.ref_level is not None:
        ref = layout.channel(unit.inputs["ref"])
        go = layout.internal(f"{unit.name}.go", params.ahead)
        layout.actor(
            unit.name,
            "watch",
            watch,
            packed(
                WATCH,
                ref=ref,
                go=go,
                closes=closes,
                level=params.ref_level,
                whole=params.whole,
                inside=False,
            ),
            reads=[ref],
            writes=[go, closes],
        )

    # Addresses count from the last boundary of bursts.
    longest = burst(bus, layout.design.channel[unit.inputs["data"]].depth)
    walk, boundary = params.walk, longest * bus.bytes
    base = walk.base % boundary
    loops = zip(walk.extents, walk.jumps, strict=True)
    own = packed(
        WALK,
        go=go,
        gone=False,
        bursts=bursts,
        base=base,
        length=walk.length,
        word=bus.bytes,
        burst=longest,
        first=first_word(walk.base, boundary, bus.bytes),
        start=base,
        address=base // bus.bytes,
        left=walk.words(bus.bytes),
        loop_count=len(walk.extents),
        loops=[n for extent, jump in loops for n in (extent, jump % SPACE, 0)],
    )
    layout.actor(unit.name, "walk", go_through, own, reads=[go] if go else [], writes=[bursts])


def build_seek(unit: Unit, params: Load, layout: DesignLayout, bursts: int, closes: int) -> None:
    """What makes starts of tiles of addresses, and bursts of these."""
    ref, by = layout.channel(unit.inputs["ref"]), params.by_address(unit, layout.design)
    starts = build_look_up(unit, by, layout, ref, closes)
    own = packed(
        SEEK,
        starts=starts,
        bursts=bursts,
        length=params.tile_bytes,
        word=by.word,
        burst=by.boundary // by.word,
        first=first_word(by.base, by.boundary, by.word),
        address=0,
        left=0,
    )
    layout.actor(unit.name, "seek", seek, own, reads=[starts], writes=[bursts])
