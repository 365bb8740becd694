"""Cycle model of a loader: passes due, choice of tiles, their bursts, credits, and beats."""

from __future__ import annotations

from stepgen.hw.design.params import numbered
from stepgen.hw.design.table import Unit
from stepgen.hw.units.loader.params import Loader
from stepgen.ir.wire import BARE, TILE_LEVELS, VALUE
from stepgen.timing.bursts import ADDRESS_MASK, make_burst
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.granting import build_grant
from stepgen.timing.kernel import *
from stepgen.timing.kernel import EMPTY_INPUT, REASON

WATCH = record("ref", "due", "level", "whole", "inside")
CREDIT = record("free", "under_way")
FETCH = record(
    "readers", "chosen", "turn", "bursts", "turns", "raised", "words", "burst", "first", "address",
    "left", "dims", "dim_count", "progress", "dues", "under_way",
)  # fmt: skip
EMIT = record("turns", "data", "parts", "slices", "beats", "part", "beat", "outs")

SPACE = 1 << 56
"""Words of the addresses that the model distinguishes."""

DIM_EXTENT, DIM_JUMP = range(2)
DIM_SIZE = 2
"""Words of the record of one dim of a pass."""

PLACE_FIRST, PLACE_START, PLACE_COUNTS = range(3)
"""Of where a reader is in its pass: the first tile, the next one, then a count for each dim."""

NOTHING, NOTHING_YET = -1, -2


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
    if not part or (last if M[a + P.whole] else not M[a + P.inside]):
        wait = room(M, M[a + P.due], t)
        if wait != READY:
            return wait
        push(M, M[a + P.due], t, 0 if part else beat)
    pop(M, M[a + P.ref], t)
    M[a + P.inside] = not last
    return acted(M, t)


@step
def credit(M: Memory, a: int, t: int) -> int:
    P = CREDIT
    wait = ready(M, M[a + P.free], t)
    if wait != READY:
        return wait
    pop(M, M[a + P.free], t)
    pop(M, M[a + P.under_way], t)
    return acted(M, t)


@helper
def next_reader(M: Memory, a: int, t: int) -> int:
    """The next reader, round robin, with a pass due and room for a tile; negative if none has."""
    P = FETCH
    yet = False
    for n in range(M[a + P.readers]):
        reader: int = (M[a + P.turn] + n) % M[a + P.readers]
        wait = ready(M, M[M[a + P.dues] + reader], t)
        if wait == READY:
            wait = room(M, M[M[a + P.under_way] + reader], t)
        if wait == READY:
            return reader
        yet = yet or wait > 0
    return NOTHING_YET if yet else NOTHING


@helper
def start_of(M: Memory, a: int, reader: int) -> int:
    """The start of a reader's next tile."""
    P = FETCH
    return M[M[a + P.progress] + (PLACE_COUNTS + M[a + P.dim_count]) * reader + PLACE_START]


@helper
def advance(M: Memory, a: int, reader: int) -> int:
    """Step to the reader's next tile; returns how many dims end with this one."""
    P = FETCH
    place = M[a + P.progress] + (PLACE_COUNTS + M[a + P.dim_count]) * reader
    for n in range(M[a + P.dim_count]):
        dim = M[a + P.dims] + DIM_SIZE * n
        M[place + PLACE_COUNTS + n] += 1
        if M[place + PLACE_COUNTS + n] < M[dim + DIM_EXTENT]:
            M[place + PLACE_START] = (M[place + PLACE_START] + M[dim + DIM_JUMP]) % SPACE
            return n
        M[place + PLACE_COUNTS + n] = 0
    M[place + PLACE_START] = M[place + PLACE_FIRST]
    return M[a + P.dim_count]


@helper
def take(M: Memory, a: int, t: int, reader: int) -> None:
    """Begin with what the reader has due."""
    P = FETCH
    due = M[M[a + P.dues] + reader]
    beat = head(M, due)
    kind, stop, low = kind_of(beat), 0, 0
    push(M, M[M[a + P.under_way] + reader], t, 0)
    ended = M[a + P.dim_count]
    if kind == VALUE:
        M[a + P.address] = start_of(M, a, reader)
        M[a + P.left] = M[a + P.words]
        ended = advance(M, a, reader)
        stop = TILE_LEVELS + ended
    elif kind == BARE:
        stop, low = stop_of(beat) + M[a + P.raised], low_of(beat) + M[a + P.raised]
    push(M, M[a + P.turns], t, make_beat(kind, stop, low, reader))
    if ended == M[a + P.dim_count]:
        pop(M, due, t)


@step
def fetch(M: Memory, a: int, t: int) -> int:
    P = FETCH
    if M[a + P.left]:
        wait = room(M, M[a + P.bursts], t)
        if wait != READY:
            return wait
        length = min(M[a + P.burst] - M[a + P.address] % M[a + P.burst], M[a + P.left])
        push(M, M[a + P.bursts], t, make_burst(M[a + P.first] + M[a + P.address], length))
        M[a + P.address] += length
        M[a + P.left] -= length
        return acted(M, t)
    if M[a + P.chosen] >= 0:
        take(M, a, t, M[a + P.chosen])
        M[a + P.chosen] = NOTHING
        return acted(M, t)
    wait = room(M, M[a + P.turns], t)
    if wait != READY:
        return wait
    reader = next_reader(M, a, t)
    if reader < 0:
        M[REASON] = EMPTY_INPUT
        return t + 1 if reader == NOTHING_YET else ANY
    M[a + P.chosen] = reader
    M[a + P.turn] = (reader + 1) % M[a + P.readers]
    return acted(M, t)


@step
def emit(M: Memory, a: int, t: int) -> int:
    P = EMIT
    wait = ready(M, M[a + P.turns], t)
    if wait != READY:
        return wait
    turn = head(M, M[a + P.turns])
    kind, out = kind_of(turn), M[a + P.outs + aux_of(turn)]
    if kind == VALUE:
        wait = ready(M, M[a + P.data], t)
        if wait != READY:
            return wait
    wait = room(M, out, t)
    if wait != READY:
        return wait
    if kind != VALUE:
        push(M, out, t, make_beat(kind, stop_of(turn), low_of(turn), 0))
        pop(M, M[a + P.turns], t)
        return acted(M, t)
    beat, part = M[a + P.beat] + 1, M[a + P.part] + 1
    last = beat == M[a + P.beats]
    stop = stop_of(turn) if last else int(beat % M[a + P.slices] == 0)
    push(M, out, t, make_beat(VALUE, stop, 0, 0))
    if part == M[a + P.parts]:
        pop(M, M[a + P.data], t)
        part = 0
    if last:
        pop(M, M[a + P.turns], t)
        beat = 0
    M[a + P.beat], M[a + P.part] = beat, part
    return acted(M, t)


def build(unit: Unit, params: Loader, layout: DesignLayout) -> None:
    """Two actors for each reader, and three that all share."""
    design, bus = layout.design, layout.design.bus
    readers = range(params.readers)
    data = layout.channel(unit.inputs["data"])
    outs = [layout.channel(unit.outputs[port]) for port in numbered("out", params.readers)]
    bursts, turns, *dues = (
        layout.internal(f"{unit.name}.{queue.name}", queue.depth, queue.latency)
        for queue in params.queues(unit, design)
    )
    under_way = [
        layout.internal(f"{unit.name}.under_way_{n}", params.room(unit, design, n)) for n in readers
    ]
    for n in readers:
        ref, free = (layout.channel(unit.inputs[f"{port}_{n}"]) for port in ("ref", "free"))
        own = packed(
            WATCH, ref=ref, due=dues[n], level=params.ref_level, whole=params.whole, inside=False
        )
        layout.actor(unit.name, f"watch {n}", watch, own, reads=[ref], writes=[dues[n]])
        own = packed(CREDIT, free=free, under_way=under_way[n])
        layout.actor(unit.name, f"credit {n}", credit, own, reads=[free, under_way[n]], writes=[])

    by, shape = params.starts(unit, design), params.shape
    dims = zip(reversed(shape), params.jumps(bus), strict=True)
    origins = [origin % SPACE for origin in by.origins]
    own = packed(
        FETCH,
        readers=params.readers,
        chosen=NOTHING,
        turn=0,
        bursts=bursts,
        turns=turns,
        raised=params.loads[0].pass_level - params.ref_level,
        words=params.tile_words(bus),
        burst=by.burst,
        first=by.boundary & ADDRESS_MASK,
        address=0,
        left=0,
        dims=layout.reserve([n for extent, jump in dims for n in (extent, jump % SPACE)]),
        dim_count=len(shape),
        progress=layout.reserve(
            [n for first in origins for n in (first, first, *len(shape) * [0])]
        ),
        dues=layout.reserve(dues),
        under_way=layout.reserve(under_way),
    )
    writes = [bursts, turns, *under_way]
    layout.actor(unit.name, "fetch", fetch, own, reads=dues, writes=writes)
    depth = design.channel[unit.inputs["data"]].depth
    build_grant(unit, layout, bursts, params.longest_burst(bus, depth))
    own = packed(
        EMIT,
        turns=turns,
        data=data,
        parts=params.word_beats(bus),
        slices=params.loads[0].slices,
        beats=params.tile_beats,
        part=0,
        beat=0,
        outs=outs,
    )
    layout.actor(unit.name, "emit", emit, own, reads=[turns, data], writes=outs)
