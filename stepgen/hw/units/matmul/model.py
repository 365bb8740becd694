"""Cycle model of the matrix unit: actors load tiles and rows, take slices of x, and compute."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.matmul.params import Matmul
from stepgen.ir.wire import BARE, TILE_LEVELS, VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

# Of a tile of weights, or of a row where sums start.
# `left`: beats still missing of the tile's `beats`; 0 where stops show them
# `used`: tiles in memory, where it has room for one; -1 where `tiles` counts them
# `n`: N of the tile so far, which are its rows if it is transposed
# `lanes`: elements of a beat, which says how many it lacks
# `inside`, `starts_row`: whether a tile has begun; whether the next beat begins a row
L = record(
    "w",
    "tiles",
    "used",
    "beats",
    "left",
    "transposed",
    "lanes",
    "n",
    "inside",
    "starts_row",
)
T = record("x", "rows")
# `k`: slices of the row so far
R = record("x", "rows", "k")
# `starts`: -1 where no row comes with a tile
# `k_slices`, `n_slices`: of a tile; 0 where stops of x or the tile itself show them
# `turn`: cycles of a slice of x before the row's last, at least `n_slices`
# `lanes`: of y
# `sums_up`: whether the row's last takes as long, for the next tile
# `rows`: of the sums of an empty group, where a group becomes one tile; else 0
# `sent`: beats of the sums of an empty group
# `free`: the channel that reports a tile as used up, or -1
C = record(
    "x",
    "tiles",
    "used",
    "starts",
    "y",
    "k_slices",
    "n_slices",
    "lanes",
    "turn",
    "sums_up",
    "rows",
    "k_slice",
    "n_slice",
    "sent",
    "free",
)
SLICES = 2
"""Slices of x that are taken and not yet done."""


@helper
def measured(M: Memory, a: int, beat: int) -> bool:
    """Count N with a beat of a tile whose stops show its size; returns whether it is complete."""
    stop = stop_of(beat)
    if not M[a + L.inside] or (M[a + L.starts_row] and not M[a + L.transposed]):
        M[a + L.n] = 0
    if M[a + L.transposed]:
        M[a + L.n] += stop > 0
    else:
        M[a + L.n] += M[a + L.lanes] - aux_of(beat)
    M[a + L.starts_row] = stop > 0
    M[a + L.inside] = stop < TILE_LEVELS
    return stop >= TILE_LEVELS


@step
def load(M: Memory, a: int, t: int) -> int:
    w, tiles = M[a + L.w], M[a + L.tiles]
    wait = ready(M, w, t)
    if wait != READY:
        return wait
    if M[a + L.left] == M[a + L.beats] and not M[a + L.inside]:
        wait = room(M, tiles, t)
        if wait != READY:
            return wait
        if M[a + L.used] >= 0 and kind_of(head(M, w)) == VALUE:
            wait = room(M, M[a + L.used], t)
            if wait != READY:
                return wait
            push(M, M[a + L.used], t, 0)
    beat = pop(M, w, t)
    if kind_of(beat) == VALUE and M[a + L.beats]:
        M[a + L.left] -= 1
        if M[a + L.left]:
            return acted(M, t)
        M[a + L.left] = M[a + L.beats]
    elif kind_of(beat) == VALUE:
        if not measured(M, a, beat):
            return acted(M, t)
        beat = make_beat(VALUE, stop_of(beat), 0, M[a + L.n])
    push(M, tiles, t, beat)
    return acted(M, t)


@step
def take(M: Memory, a: int, t: int) -> int:
    x, rows = M[a + T.x], M[a + T.rows]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    wait = room(M, rows, t)
    if wait != READY:
        return wait
    push(M, rows, t, pop(M, x, t))
    return acted(M, t)


@step
def collect(M: Memory, a: int, t: int) -> int:
    x, rows = M[a + R.x], M[a + R.rows]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    if M[a + R.k] == 0:
        wait = room(M, rows, t)
        if wait != READY:
            return wait
    beat = pop(M, x, t)
    if kind_of(beat) == VALUE:
        M[a + R.k] += 1
        if stop_of(beat) == 0:
            return acted(M, t)
        beat = make_beat(VALUE, stop_of(beat), 0, M[a + R.k])
        M[a + R.k] = 0
    push(M, rows, t, beat)
    return acted(M, t)


@helper
def release(M: Memory, a: int, t: int) -> None:
    """Pop what `tiles` and `starts` show, and free the memory if it is a tile."""
    beat = pop(M, M[a + C.tiles], t)
    if M[a + C.starts] >= 0:
        pop(M, M[a + C.starts], t)
    if M[a + C.used] >= 0 and kind_of(beat) == VALUE:
        pop(M, M[a + C.used], t)
    if M[a + C.free] >= 0:
        push(M, M[a + C.free], t, 0)  # whoever sends tiles knows that there is room


@helper
def nothing(M: Memory, a: int, t: int, stop: int) -> int:
    """Send the next beat of the sums of an empty group, which are where sums start."""
    sent = M[a + C.sent]
    ends_row = (sent + 1) % M[a + C.n_slices] == 0
    ends = sent + 1 == M[a + C.rows] * M[a + C.n_slices]
    push(M, M[a + C.y], t, make_beat(VALUE, stop if ends else int(ends_row), 0, 0))
    M[a + C.sent] = 0 if ends else sent + 1
    if ends:
        pop(M, M[a + C.x], t)
        release(M, a, t)
    return acted(M, t)


@helper
def heads_ready(M: Memory, a: int, t: int) -> int:
    """Whether there is a beat of x, of tiles and, if any rows come with tiles, of those."""
    wait = ready(M, M[a + C.x], t)
    if wait == READY:
        wait = ready(M, M[a + C.tiles], t)
    if wait == READY and M[a + C.starts] >= 0:
        wait = ready(M, M[a + C.starts], t)
    return wait


@step
def compute(M: Memory, a: int, t: int) -> int:
    x, tiles, y = M[a + C.x], M[a + C.tiles], M[a + C.y]
    wait = heads_ready(M, a, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    kind, stop, folds = kind_of(beat), stop_of(beat), M[a + C.rows] != 0
    last_k = M[a + C.k_slice] == M[a + C.k_slices] - 1
    if M[a + C.k_slices] == 0:
        last_k = stop > 0
    n_slice, n_slices, lacks = M[a + C.n_slice], M[a + C.n_slices], 0
    turn = M[a + C.turn]
    if n_slices == 0:
        n, lanes = aux_of(head(M, tiles)), M[a + C.lanes]
        n_slices = (n + lanes - 1) // lanes
        turn = max(turn, n_slices)
        if n_slice == n_slices - 1:
            lacks = n_slices * lanes - n
    if kind == VALUE:
        complete = not folds or stop_of(head(M, tiles)) > TILE_LEVELS
        sends = last_k and n_slice < n_slices and complete
    else:
        sends = not folds or low_of(beat) != TILE_LEVELS or stop > TILE_LEVELS or kind != BARE
    if sends:
        wait = room(M, y, t)
        if wait != READY:
            return wait
    out = stop - 1 if folds and stop > TILE_LEVELS else stop
    if kind != VALUE:
        if kind == BARE and folds and low_of(beat) == TILE_LEVELS + 1:
            return nothing(M, a, t, out)
        if kind == BARE:
            low = low_of(beat)
            beat = make_beat(BARE, out, low - 1 if folds and low > TILE_LEVELS else low, 0)
        if sends:
            push(M, y, t, beat)
        pop(M, x, t)
        release(M, a, t)
        return acted(M, t)
    final = (n_slices if last_k and not M[a + C.sums_up] else turn) - 1
    if sends:
        push(M, y, t, make_beat(VALUE, out if n_slice == n_slices - 1 else 0, 0, lacks))
    elif n_slice != final:
        # The cycles up to the slice's last can't stall.
        ahead = final - n_slice
        M[a + C.n_slice] += ahead
        return acted(M, t + ahead - 1)
    if n_slice != final:
        M[a + C.n_slice] += 1
        return acted(M, t)
    pop(M, x, t)
    M[a + C.n_slice] = 0
    M[a + C.k_slice] = 0 if last_k else M[a + C.k_slice] + 1
    if last_k and stop >= TILE_LEVELS:
        release(M, a, t)
    return acted(M, t)


@step
def compute_rows(M: Memory, a: int, t: int) -> int:
    x, tiles, y = M[a + C.x], M[a + C.tiles], M[a + C.y]
    wait = heads_ready(M, a, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    stop = stop_of(beat)
    if kind_of(beat) != VALUE:
        wait = room(M, y, t)
        if wait != READY:
            return wait
        push(M, y, t, pop(M, x, t))
        release(M, a, t)
        return acted(M, t)
    ahead = aux_of(beat) - 1 - M[a + C.k_slice]
    if ahead > 0:
        # The cycles up to the slice's last can't stall.
        M[a + C.k_slice] += ahead
        return acted(M, t + ahead - 1)
    wait = room(M, y, t)
    if wait != READY:
        return wait
    n_slices, lacks = M[a + C.n_slices], 0
    if n_slices == 0:
        n, lanes = aux_of(head(M, tiles)), M[a + C.lanes]
        n_slices = (n + lanes - 1) // lanes
        lacks = n_slices * lanes - n
    last_n = M[a + C.n_slice] == n_slices - 1
    if not last_n:
        lacks = 0
    push(M, y, t, make_beat(VALUE, stop if last_n else 0, 0, lacks))
    M[a + C.k_slice] = 0
    M[a + C.n_slice] = 0 if last_n else M[a + C.n_slice] + 1
    if last_n:
        pop(M, x, t)
        if stop >= TILE_LEVELS:
            release(M, a, t)
    return acted(M, t)


def build(unit: Unit, params: Matmul, layout: DesignLayout) -> None:
    """Actors that load, joined to the one that computes by channels of complete tiles and rows.

    One more takes x: rows if K is inside, else slices.
    """
    x, w = layout.channel(unit.inputs["x"]), layout.channel(unit.inputs["w"])
    y = layout.channel(unit.outputs["y"])
    tiles, *others = (
        layout.internal(f"{unit.name}.{inside.name}", inside.depth, inside.latency)
        for inside in params.queues(unit, layout.design)
    )
    used = -1
    if params.buffers == 1:
        used = layout.internal(f"{unit.name}.used", 1)
    of_used = [used] * (used >= 0)
    lanes = layout.design.lanes
    if params.k_inside(lanes):
        taken = others.pop()
    else:
        taken = layout.internal(f"{unit.name}.rows", SLICES)
    k_slices, n_slices = params.slices(lanes)
    rows, row_beats = params.beats(lanes)
    beats = 0 if params.dynamic else rows * row_beats
    turn = params.turn(lanes)
    longest = k_slices if params.k_inside(lanes) else max(turn, params.rest)
    layout.horizon = max(layout.horizon, longest + 2)
    own = packed(
        L,
        w=w,
        tiles=tiles,
        used=used,
        beats=beats,
        left=beats,
        transposed=params.transposed,
        lanes=lanes,
        n=0,
        inside=0,
        starts_row=1,
    )
    layout.actor(unit.name, "load", load, own, reads=[w], writes=[tiles, *of_used])
    for starts in others:
        b = layout.channel(unit.inputs["b"])
        own = packed(
            L,
            w=b,
            tiles=starts,
            used=-1,
            beats=n_slices,
            left=n_slices,
            transposed=0,
            lanes=lanes,
            n=0,
            inside=0,
            starts_row=1,
        )
        layout.actor(unit.name, "load rows", load, own, reads=[b], writes=[starts])
    if params.k_inside(lanes):
        take_x, own = collect, packed(R, x=x, rows=taken, k=0)
    else:
        take_x, own = take, packed(T, x=x, rows=taken)
    layout.actor(unit.name, "take", take_x, own, reads=[x], writes=[taken])
    own = packed(
        C,
        x=taken,
        tiles=tiles,
        used=used,
        starts=others[0] if others else -1,
        y=y,
        k_slices=0 if params.any_k else k_slices,
        n_slices=0 if params.any_n else n_slices,
        lanes=lanes,
        turn=params.rest if params.any_n else turn,
        sums_up=params.rows > 0,
        rows=params.rows if params.folds else 0,
        k_slice=0,
        n_slice=0,
        sent=0,
        free=layout.channel(unit.outputs["free"]) if params.credits else -1,
    )
    steps = compute_rows if params.k_inside(lanes) else compute
    reads = [taken, tiles, *of_used, *others]
    layout.actor(unit.name, "compute", steps, own, reads=reads, writes=[y])
