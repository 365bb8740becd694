"""Cases of units that change the structure of streams, route, repeat or convert them."""

import math
from dataclasses import replace

import numpy as np
from drawn import LANES, Draw, blank_lanes, to_beats
from lone.case import OUTER, ROWS, Case, alone, bits, extents, tiles

from stepgen.hw.design.pace import Extent
from stepgen.hw.units.as_scalar.params import AsScalar
from stepgen.hw.units.as_selector.params import AsSelector
from stepgen.hw.units.as_tile.params import AsTile
from stepgen.hw.units.calculate.params import Calculate
from stepgen.hw.units.cap.params import Cap
from stepgen.hw.units.concat.params import Concat
from stepgen.hw.units.count.params import Count
from stepgen.hw.units.decode.params import Decode
from stepgen.hw.units.drop.params import Drop
from stepgen.hw.units.expand.params import Expand
from stepgen.hw.units.flatten.params import Flatten
from stepgen.hw.units.fork.params import Fork
from stepgen.hw.units.group.params import Group
from stepgen.hw.units.link.params import Link
from stepgen.hw.units.logic.params import Logic
from stepgen.hw.units.one_hot.params import OneHot
from stepgen.hw.units.partition.params import Partition
from stepgen.hw.units.promote.params import Promote
from stepgen.hw.units.reassemble.params import Reassemble
from stepgen.hw.units.reshape.params import Reshape
from stepgen.hw.units.span.params import SELECTORS, Span
from stepgen.hw.units.split.params import Split
from stepgen.hw.units.store_forward.params import StoreForward
from stepgen.hw.units.tile_addresses.params import TileAddresses


def fork(draw: Draw) -> Case:
    x = tiles(draw, OUTER)
    return alone(Fork(branches=2), {"x": x}, {"y": x[1], "z": x[1]})


def split(draw: Draw) -> Case:
    beats, dims = tiles(draw, OUTER, (4,), OUTER)
    sizes = draw.one(((1, 3), (2, 2)))
    made = {
        f"y{n}": [*dims[:3], Extent(size, False, "part"), *dims[4:]] for n, size in enumerate(sizes)
    }
    return alone(Split(sizes, 3), {"x": (beats, dims)}, made)


def concat(draw: Draw) -> Case:
    """Of one stream, so that groups agree."""
    beats, dims = tiles(draw, OUTER, (1, 3), OUTER)
    y = [*dims[:3], Extent(2 * dims[3].bound, False, "joined"), *dims[4:]]
    xs = {name: (beats, dims) for name in ("x", "z")}
    return replace(alone(Concat(2, 3), xs, {"y": y}), together=True)


def promote(draw: Draw) -> Case:
    beats, dims = tiles(draw, OUTER, OUTER)
    level = draw.one((1, 2, 3, 4, 4))
    y = [*dims[:level], Extent(1, False, "1"), *dims[level:]]
    params = Promote(level, outermost=level == 4)
    return alone(params, {"x": (beats, dims)}, {"y": y})


def flatten(draw: Draw) -> Case:
    inner = draw.one((OUTER, (1, 2, 3)))
    rows = draw.one((ROWS, (1, 2, 3)))
    beats, dims = tiles(draw, OUTER, inner, OUTER, rows=rows)
    lo, hi = draw.one(((1, 2), (1, 3), (2, 3), (2, 4), (3, 4)))
    merged = math.prod(d.bound for d in dims[lo : hi + 1])
    empty = any(d.may_be_empty for d in dims[lo : hi + 1])
    y = [*dims[:lo], Extent(merged, empty, "merged"), *dims[hi + 1 :]]
    hold = hi < 4 and any(d.may_be_empty for d in dims[lo:hi])
    return alone(Flatten(lo, hi, hold), {"x": (beats, dims)}, {"y": y})


def group(draw: Draw) -> Case:
    beats, dims = tiles(draw, OUTER, (4,), OUTER)
    y = [*dims[:3], Extent(2, False, "chunk"), Extent(2, False, "chunks"), *dims[4:]]
    return alone(Group(level=3, chunk=2), {"x": (beats, dims)}, {"y": y})


def cap(draw: Draw) -> Case:
    outer = [OUTER] * draw.one((0, 1))
    beats, dims = tiles(draw, *outer, (0, 1, 2, 3, 4))
    made = [Extent(2, False, "chunk"), Extent(2, True, "chunks")]
    y = [*dims[:2], *made, *dims[3:]]
    return alone(Cap(level=2, chunk=2, outermost=not outer), {"x": (beats, dims)}, {"y": y})


def link(draw: Draw) -> Case:
    take, give = draw.one(((1, 4), (4, 1), (2, 4), (4, 2), (2, 2)))
    columns = draw.one((1, 2, 3, 4, 5, 9))
    before, after = (-(-columns // lanes) for lanes in (take, give))
    beats, dims = tiles(draw, OUTER, slices=before)
    beats = blank_lanes(beats, take)
    formats = {"x": (take, 8), "y": (give, 8)}
    made = [Extent(after, False, "slices"), *dims[1:]]
    return alone(Link(take, give, columns), {"x": (beats, dims)}, {"y": made}, formats=formats)


def store_forward(draw: Draw) -> Case:
    level = draw.one((2, 3))
    x = tiles(draw, OUTER, OUTER)
    return alone(StoreForward(level, 3 * 2 * 3 ** (level - 2)), {"x": x}, {"y": x[1]})


def one_hot(draw: Draw) -> Case:
    width = draw.one((1, 2, 5))
    x = bits(draw, OUTER, OUTER, width=width)
    params = OneHot(width)
    return alone(params, {"x": x}, {"y": params.extents(x[1])}, width=width)


def span(draw: Draw) -> Case:
    makes, most = draw.one(("all", "first", "last", "end")), draw.one((1, 2, 5))
    params = Span(makes, most, draw.one((False, True)))
    nested = draw.nested(
        [OUTER, OUTER], lambda: draw.rng.integers(params.least, most + 1, 2).astype(np.uint64)
    )
    x = to_beats(nested, 1, np.uint64), extents(0, OUTER, OUTER)
    made = (2, 1) if makes in SELECTORS else (1, 8)
    return alone(params, {"x": x}, {"y": params.extents(x[1])}, formats={"x": (2, 8), "y": made})


def tile_addresses(draw: Draw) -> Case:
    width, params = 3, TileAddresses(draw.one((1, 2, 3)), 3, draw.one((False, True)))
    nested = draw.nested([OUTER, OUTER], lambda: np.arange(width) == draw.rng.integers(width))
    x = to_beats(nested, 1, bool), extents(0, OUTER, OUTER)
    formats = {"x": (width, 1), "y": (1, 8)}
    return alone(params, {"x": x}, {"y": params.extents(x[1])}, formats=formats)


def count(draw: Draw) -> Case:
    every, level = draw.one((False, True)), draw.one((3, 4))
    x = tiles(draw, OUTER, OUTER, OUTER)
    made = x[1][2 if every else level :]
    params = Count(2, level, 0, every)
    return alone(params, {"x": x}, {"y": made}, formats={"y": (1, 8)})


def as_scalar(draw: Draw) -> Case:
    beats, dims = tiles(draw, OUTER, OUTER, rows=(1,), slices=1)
    formats = {"x": (LANES, 1), "y": (1, 1)}
    return alone(AsScalar(), {"x": (beats, dims)}, {"y": dims[2:]}, formats=formats)


def as_selector(draw: Draw) -> Case:
    slices, otherwise = draw.one((1, 2, 3)), draw.one((False, True))
    columns = slices * LANES - draw.one((0, 1))
    beats, dims = tiles(draw, OUTER, OUTER, rows=(1,), slices=slices)
    formats = {"x": (LANES, 1), "y": (columns + otherwise, 1)}
    params = AsSelector(columns, otherwise)
    return alone(params, {"x": (beats, dims)}, {"y": dims[2:]}, formats=formats)


def calculate(draw: Draw) -> Case:
    nested = draw.nested([OUTER, OUTER], lambda: draw.rng.integers(0, 9, 1))
    x = to_beats(nested, 1, np.uint64), extents(0, OUTER, OUTER)
    formats = {"x": (1, 8), "other": (1, 8), "y": (1, 8)}
    if draw.one((False, True)):
        params = Calculate("product", (1,), draw.one((2, 3)))
        return alone(params, {"x": x}, {"y": x[1]}, formats=formats)
    given = {"x": x, "other": x}
    made = alone(Calculate("sum", (1, 1)), given, {"y": x[1]}, formats=formats)
    return replace(made, together=True)


def decode(draw: Draw) -> Case:
    nested = draw.nested([OUTER, OUTER], lambda: draw.rng.integers(0, 3, 1))
    x = to_beats(nested, 1, np.uint64), extents(0, OUTER, OUTER)
    return alone(Decode(3), {"x": x}, {"y": x[1]}, formats={"x": (1, 8), "y": (3, 1)})


def logic(draw: Draw) -> Case:
    width = draw.one((1, 3))
    x = bits(draw, OUTER, OUTER, width=width)
    made = alone(Logic("xor", width), {"x": x, "other": x}, {"y": x[1]}, width=width)
    return replace(made, together=True)


def as_tile(draw: Draw) -> Case:
    columns = draw.one((1, 3))
    nested = draw.nested([OUTER, OUTER], lambda: draw.rng.integers(0, 9, columns))
    x = to_beats(nested, 1, np.uint64), extents(0, OUTER, OUTER)
    y = [*extents(-(-columns // LANES), (1,)), *x[1]]
    formats = {"x": (columns, 8), "y": (LANES, 32)}
    return alone(AsTile("address", "int32", columns), {"x": x}, {"y": y}, formats=formats)


def reshape(draw: Draw) -> Case:
    chunk, prompt = draw.one((1, 2, 3)), draw.one((True, False))
    beats, dims = tiles(draw, OUTER, (0, 1, 3, 4), rows=(2,), slices=2)
    made = [Extent(chunk, False, "chunk"), Extent(-(-4 // chunk), True, "chunks"), dims[3]]
    params = Reshape(level=2, chunk=chunk, rows=2, slices=2, pad=0, prompt=prompt)
    return alone(params, {"x": (beats, dims)}, {"y": [*dims[:2], *made], "flags": made})


def drop(draw: Draw) -> Case:
    hold = draw.one((True, False))
    outer = [OUTER] if hold else []
    nested = draw.nested([*outer, OUTER], lambda: draw.tile(draw.one(ROWS), 2))
    depth = len(outer) + 1

    def flagged(items, level):
        return [flagged(i, level - 1) for i in items] if level else draw.flags(1, 0.5)

    x = to_beats(nested, depth + 1), extents(2, *outer, OUTER, ROWS)
    flags = to_beats(flagged(nested, depth), depth - 1, bool)
    flags = blank_lanes(flags, 1), extents(0, *outer, OUTER)
    case = alone(Drop(hold), {"x": x, "flags": flags}, {"y": x[1]})
    case.beside = "flags", 0, "x"
    return case


def partition(draw: Draw) -> Case:
    level = draw.one((2, 3))
    nested = draw.nested([OUTER, OUTER], lambda: draw.tile(draw.one(ROWS), 2))

    def flagged(items, depth):
        return [flagged(i, depth - 1) for i in items] if depth else draw.flags(2, 0.5)

    chosen = flagged(nested, 4 - level)
    sel = to_beats(chosen, 3 - level, bool), extents(0, *[OUTER] * (4 - level))
    x = to_beats(nested, 3), extents(2, OUTER, OUTER, ROWS)
    routed = [*x[1][:level], Extent(9 if level == 2 else 3, True, "E")]
    params = Partition(consumers=2, level=level, surplus=False)
    return alone(params, {"x": x, "sel": sel}, {"y": routed, "z": routed})


def partition_once(draw: Draw) -> Case:
    """One chunk of each innermost group goes to the first output."""
    nested = draw.nested([OUTER, (1, 2, 3)], lambda: draw.tile(draw.one(ROWS), 2))
    chosen = [np.arange(len(group)) == draw.one(range(len(group))) for group in nested]
    both = [[np.array([one, not one]) for one in group] for group in chosen]
    sel = to_beats(both, 1, bool), extents(0, OUTER, (1, 2, 3))
    x = to_beats(nested, 3), extents(2, OUTER, (1, 2, 3), ROWS)
    routed = [*x[1][:2], Extent(9, True, "E")]
    params = Partition(consumers=2, level=2, surplus=False, once=(0,))
    return alone(params, {"x": x, "sel": sel}, {"y": routed, "z": routed})


def reassemble(draw: Draw) -> Case:
    chosen = draw.nested([OUTER, OUTER], lambda: draw.flags(2, 0.6))
    flat = [s for part in chosen for s in part]
    xs = {}
    for n in range(2):
        count = sum(int(s[n]) for s in flat)
        xs[f"x{n}"] = tiles(draw, (count,))
    sel = to_beats(chosen, 1, bool), extents(0, OUTER, OUTER)
    dims = [*extents(2, ROWS), Extent(2, True, "K"), *sel[1]]
    params = Reassemble(producers=2, level=2, order=draw.one(("index", "arrival")))
    return alone(params, {**xs, "sel": sel}, {"y": dims})


def expand(draw: Draw) -> Case:
    count, one = draw.one((1, 2, 3)), draw.one(((1,), OUTER))
    beats, dims = tiles(draw, one, (1,))
    y = [*dims[:2], Extent(count, False, "count"), dims[3]]
    params = Expand(count, 2, 3, 0, capacity=6)
    return alone(params, {"x": (beats, dims)}, {"y": y})


def expand_by_reference(draw: Draw) -> Case:
    chosen = draw.nested([OUTER, OUTER], lambda: draw.flags(1, 0.5))
    x = [[draw.tile(draw.one(ROWS), 2)] for _ in chosen]
    ref = to_beats(chosen, 1, bool), extents(0, OUTER, OUTER)
    beats = to_beats(x, 3), extents(2, OUTER, (1,), ROWS)
    params = Expand(None, 2, 3, 0, capacity=12)
    dims = [*beats[1][:2], *ref[1]]
    return alone(params, {"x": beats, "ref": ref}, {"y": dims})


def expand_single_beats(draw: Draw) -> Case:
    """Flags that are repeated a number of times."""
    count = draw.one((1, 2, 3))
    flags = draw.nested([OUTER, (1,)], lambda: draw.flags(2, 0.5))
    x = to_beats(flags, 1, bool), extents(0, OUTER, (1,))
    y = [Extent(count, False, "count"), *x[1][1:]]
    return alone(Expand(count, 0, 1, 0, capacity=2), {"x": x}, {"y": y})


def expand_single_beats_by_tiles(draw: Draw) -> Case:
    """Flags that are repeated for each tile of a reference."""
    flags = draw.nested([OUTER], lambda: draw.flags(2, 0.5))
    x = to_beats([[f] for f in flags], 1, bool), extents(0, OUTER, (1,))
    ref = [draw.nested([OUTER], lambda: draw.tile(draw.one(ROWS), 2)) for _ in flags]
    beats = to_beats(ref, 3), extents(2, OUTER, OUTER, ROWS)
    y = beats[1][2:]
    return alone(Expand(None, 0, 1, 2, capacity=2), {"x": x, "ref": beats}, {"y": y})
