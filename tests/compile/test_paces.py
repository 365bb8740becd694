"""The paces that kinds of units declare, checked for each kind alone in drawn model runs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from drawn import LANES, Draw, blank_lanes, to_beats
from harness import row, sink, source
from off_chip import OffChip

from stepgen.hw.arithmetic.operations import Operation
from stepgen.hw.design.pace import Extent, Extents, Pace
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.table import Bus, Channel, Design, Unit
from stepgen.hw.units import load_all
from stepgen.hw.units.accumulate.params import Accumulate
from stepgen.hw.units.as_flag.params import AsFlag
from stepgen.hw.units.as_selector.params import AsSelector
from stepgen.hw.units.as_tile.params import AsTile
from stepgen.hw.units.cap.params import Cap
from stepgen.hw.units.count.params import Count
from stepgen.hw.units.cut_cols.params import CutCols
from stepgen.hw.units.cut_tile.params import CutTile
from stepgen.hw.units.drop.params import Drop
from stepgen.hw.units.expand.params import Expand
from stepgen.hw.units.flatten.params import Flatten
from stepgen.hw.units.fork.params import Fork
from stepgen.hw.units.group.params import Group
from stepgen.hw.units.link.params import Link
from stepgen.hw.units.load.params import Load
from stepgen.hw.units.mask.params import Mask
from stepgen.hw.units.matmul.params import Matmul
from stepgen.hw.units.one_hot.params import OneHot
from stepgen.hw.units.pack_cols.params import PackCols
from stepgen.hw.units.partition.params import Partition
from stepgen.hw.units.pcu.params import Pcu
from stepgen.hw.units.place_row.params import PlaceRow
from stepgen.hw.units.pmu.params import Pmu, Reading
from stepgen.hw.units.promote.params import Promote
from stepgen.hw.units.random_store.params import RandomStore
from stepgen.hw.units.reassemble.params import Reassemble
from stepgen.hw.units.reduce_rows.params import ReduceRows
from stepgen.hw.units.reshape.params import Reshape
from stepgen.hw.units.retile_col.params import RetileCol
from stepgen.hw.units.rotate_pairs.params import RotatePairs
from stepgen.hw.units.running_max.params import RunningMax
from stepgen.hw.units.shift_cols.params import ShiftCols
from stepgen.hw.units.span.params import SELECTORS, Span
from stepgen.hw.units.store_forward.params import StoreForward
from stepgen.hw.units.tile_addresses.params import TileAddresses
from stepgen.hw.units.top_k.params import TopK
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.wire import BARE, DONE, Beats
from stepgen.timing import kernel as k
from stepgen.timing.design_layout import DesignLayout

DEEP = 1 << 12
SEEDS = 8
WITHOUT_PACE = {"source", "sink", "discard", "store", "memory", "axi", "eager_merge"}
"""Kinds that no stream passes through, or in an order that time decides."""


@dataclass
class Case:
    """One unit, or several in a row, between ports."""

    design: Design
    inputs: dict[str, Beats]
    extents: dict[str, Extents]
    outputs: list[str]
    beside: tuple[str, int, str] = ("", 0, "")
    """An input, the level of its elements, and another of which each belongs to a tile."""
    likewise: str = ""
    """One more input with such elements."""
    paired: bool = False
    """Whether tiles without such elements are invalid too; then each element is one beat."""
    together: bool = False
    """Whether the inputs have the same beats, so that they end together."""
    by_tile: Mapping[str, int] = field(default_factory=dict)
    """Inputs that have as many elements as others, and end with them, by the level of these."""


def extents(slices: int, *dims: tuple[int, ...]) -> list[Extent]:
    """Of dims drawn from these numbers, outermost first, above rows of `slices` beats."""
    made = [Extent(max(d), 0 in d, f"D{n}") for n, d in enumerate(reversed(dims))]
    return [Extent(slices, False, "slices"), *made] if slices else made


def between(
    units: list[Unit], channels: list[Channel], inputs: Mapping[str, Beats], lanes: int = LANES
) -> Design:
    """A design of units between ports."""
    read = {name for u in units for name in u.inputs.values()}
    made = {name for u in units for name in u.outputs.values()}
    ports = [source(c.name) for c in channels if c.name in inputs]
    ports += [sink(name) for name in made - read]
    return Design("alone", lanes, Bus(), (*units, *ports), tuple(channels))


def alone(
    params: UnitParams,
    xs: Mapping[str, tuple[Beats, Extents]],
    ys: Mapping[str, Extents],
    wide: str = "",
    width: int = 0,
    formats: Mapping[str, tuple[int, int]] | None = None,
    lanes: int = LANES,
) -> Case:
    """A case of one unit; lanes have 1 bit for selectors and flags, 32 for `wide`, else 8.

    With `width` the unit works on selectors of so many bits. `formats` has lanes and bits of
    channels that have others.
    """
    dims = {**{name: d for name, (_, d) in xs.items()}, **ys}
    rank = {name: len(d) - 1 for name, d in dims.items()}
    given = {name: width or beats.data.shape[1] for name, (beats, _) in xs.items()}
    bits = {
        name: 1 if width or name in ("sel", "flags") else 32 if name == wide else 8 for name in dims
    }
    channels = [Channel(n, given[n], bits[n], rank[n]) for n in xs]
    delay = params.delay(lanes)
    channels += [
        Channel(n, 1 if n == "flags" else width or lanes, bits[n], rank[n], DEEP, delay) for n in ys
    ]
    for n, channel in enumerate(channels):
        own = (formats or {}).get(channel.name, (channel.lanes, channel.bits))
        channels[n] = replace(channel, lanes=own[0], bits=own[1])
    unit = row("dut", params, tuple(xs), tuple(ys))
    inputs = {name: beats for name, (beats, _) in xs.items()}
    return Case(between([unit], channels, inputs, lanes), inputs, dims, list(ys))


ROWS = (0, 1, 2, 3)
OUTER = (0, 1, 2, 3)


def tiles(draw: Draw, *dims: tuple[int, ...], rows: tuple[int, ...] = ROWS, slices: int = 0):
    """Beats of drawn tiles with their extents."""
    slices = slices or draw.one((1, 2))
    nested = draw.nested(dims, lambda: draw.tile(draw.one(rows), slices))
    return to_beats(nested, len(dims) + 1), extents(slices, *dims, rows)


def bits(draw: Draw, *dims: tuple[int, ...], width: int = 1):
    """Beats of drawn flags or selectors with their extents."""
    nested = draw.nested(dims, lambda: draw.flags(width, 0.5))
    return to_beats(nested, len(dims) - 1, bool), extents(0, *dims)


def fork(draw: Draw) -> Case:
    x = tiles(draw, OUTER)
    return alone(Fork(branches=2), {"x": x}, {"y": x[1], "z": x[1]})


def one_operand(draw: Draw) -> Case:
    x = tiles(draw, OUTER)
    scaled = Pcu(("int32",), (Operation("requantize", (0,), "int8", (1, 1)),))
    return alone(scaled, {"x": x}, {"y": x[1]}, wide="x")


def two_operands(draw: Draw) -> Case:
    a = tiles(draw, OUTER)
    added = Pcu(("int8", "int8"), (Operation("add", (0, 1), "int8"),))
    return replace(alone(added, {"a": a, "b": a}, {"y": a[1]}), together=True)


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
    params = Span(makes, most)
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


def as_flag(draw: Draw) -> Case:
    beats, dims = tiles(draw, OUTER, OUTER, rows=(1,), slices=1)
    formats = {"x": (LANES, 1), "y": (1, 1)}
    return alone(AsFlag(), {"x": (beats, dims)}, {"y": dims[2:]}, formats=formats)


def as_selector(draw: Draw) -> Case:
    slices, otherwise = draw.one((1, 2, 3)), draw.one((False, True))
    columns = slices * LANES - draw.one((0, 1))
    beats, dims = tiles(draw, OUTER, OUTER, rows=(1,), slices=slices)
    formats = {"x": (LANES, 1), "y": (columns + otherwise, 1)}
    params = AsSelector(columns, otherwise)
    return alone(params, {"x": (beats, dims)}, {"y": dims[2:]}, formats=formats)


def running_max(draw: Draw) -> Case:
    x = tiles(draw, OUTER, slices=2)
    return alone(RunningMax("int8", 2 * LANES, 1), {"x": x}, {"y": x[1]})


def as_tile(draw: Draw) -> Case:
    columns = draw.one((1, 3))
    nested = draw.nested([OUTER, OUTER], lambda: draw.rng.integers(0, 9, columns))
    x = to_beats(nested, 1, np.uint64), extents(0, OUTER, OUTER)
    y = [*extents(-(-columns // LANES), (1,)), *x[1]]
    formats = {"x": (columns, 8), "y": (LANES, 32)}
    return alone(AsTile("address", "int32", columns), {"x": x}, {"y": y}, formats=formats)


def by_number(params: PlaceRow | Mask, draw: Draw, rows: tuple[int, ...], *others: str) -> Case:
    """Tiles with a number for each, and maybe a row."""
    nested = draw.nested([OUTER, OUTER], lambda: draw.tile(draw.one(rows), 2))

    def beside(items, depth, leaf):
        return [beside(i, depth - 1, leaf) for i in items] if depth else leaf(items)

    xs = {"x": (to_beats(nested, 3), extents(2, OUTER, OUTER, rows))}
    formats = {}
    for name in others:
        if name == "row":
            own = beside(nested, 2, lambda _: draw.tile(1, 2))
            xs[name] = to_beats(own, 3), extents(2, OUTER, OUTER, (1,))
        else:
            own = beside(nested, 2, lambda t: draw.rng.integers(0, max(1, len(t)), 1))
            xs[name] = to_beats(own, 1, np.uint64), extents(0, OUTER, OUTER)
            formats[name] = 1, 8
    case = alone(params, xs, {"y": xs["x"][1]}, formats=formats)
    levels = {name: 0 if name in formats else 2 for name in xs}
    return replace(case, by_tile=levels)


def place_row(draw: Draw) -> Case:
    return by_number(PlaceRow(2, 8), draw, (1, 2, 3), "row", "at")


def mask_cols(draw: Draw) -> Case:
    return by_number(Mask(0, 2, 8), draw, ROWS, "at")


def mask_causal(draw: Draw) -> Case:
    return by_number(Mask(0, 2, 8, True, 2), draw, ROWS, "row_at", "col_at")


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

    def told(items, level):
        return [told(i, level - 1) for i in items] if level else draw.flags(1, 0.5)

    x = to_beats(nested, depth + 1), extents(2, *outer, OUTER, ROWS)
    flags = to_beats(told(nested, depth), depth - 1, bool)
    flags = blank_lanes(flags, 1), extents(0, *outer, OUTER)
    case = alone(Drop(hold), {"x": x, "flags": flags}, {"y": x[1]})
    case.beside = "flags", 0, "x"
    return case


def partition(draw: Draw) -> Case:
    level = draw.one((2, 3))
    nested = draw.nested([OUTER, OUTER], lambda: draw.tile(draw.one(ROWS), 2))

    def told(items, depth):
        return [told(i, depth - 1) for i in items] if depth else draw.flags(2, 0.5)

    chosen = told(nested, 4 - level)
    sel = to_beats(chosen, 3 - level, bool), extents(0, *[OUTER] * (4 - level))
    x = to_beats(nested, 3), extents(2, OUTER, OUTER, ROWS)
    routed = [*x[1][:level], Extent(9 if level == 2 else 3, True, "E")]
    params = Partition(consumers=2, level=level, surplus=False)
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


def pmu(draw: Draw) -> Case:
    """Chunks of up to 3 tiles, each of which is read a number of times."""
    count = draw.one((1, 2, 3))
    beats, dims = tiles(draw, OUTER, OUTER, slices=1)
    params = Pmu(3, (Reading(count, True),), draw.one((6, 9)), 2, False, 9, 8)
    y = [*dims[:3], Extent(count, False, "count"), dims[3]]
    return stored(params, {"x": (beats, dims)}, y)


def pmu_by_reference(draw: Draw) -> Case:
    """One chunk per group of a reference, also of an empty one."""
    chosen = draw.nested([OUTER, OUTER], lambda: draw.flags(1, 0.5))
    x = [draw.nested([OUTER], lambda: draw.tile(draw.one(ROWS), 1)) for _ in chosen]
    ref = to_beats(chosen, 1, bool), extents(0, OUTER, OUTER)
    beats = to_beats(x, 3), extents(1, OUTER, OUTER, ROWS)
    params = Pmu(3, (Reading(None, inner=1),), draw.one((6, 9)), 2, False, 9, 8)
    return stored(params, {"x": beats, "ref": ref}, [*beats[1][:3], *ref[1]])


def stored(params: Pmu, xs: Mapping[str, tuple[Beats, Extents]], y: Extents) -> Case:
    """A case of a PMU whose references come back at once."""
    _, dims = xs["x"]
    refs = dims[params.level :]
    channels = [
        Channel("x", LANES, 8, len(dims) - 1),
        Channel("refs", 1, params.page_bits, len(refs) - 1),
        Channel("y", LANES, 8, len(y) - 1, DEEP, params.delay(LANES)),
        *[Channel("ref", 1, 1, len(d) - 1) for n, (_, d) in xs.items() if n == "ref"],
    ]
    unit = row("dut", params, ["x", "refs", *[n for n in xs if n == "ref"]], ["refs", "y"])
    inputs = {name: blank_lanes(b, b.data.shape[1]) for name, (b, _) in xs.items()}
    known = {name: d for name, (_, d) in xs.items()}
    return Case(between([unit], channels, inputs), inputs, {**known, "refs": refs, "y": y}, ["y"])


def matmul(draw: Draw, bias: bool = False) -> Case:
    outer = draw.one(((1,), OUTER))
    rows = draw.nested([OUTER, outer], lambda: draw.one(ROWS))

    def each(items, depth, leaf):
        return [each(i, depth - 1, leaf) for i in items] if depth else leaf(items)

    x = to_beats(each(rows, 2, lambda n: draw.tile(n, 2)), 3), extents(2, OUTER, outer, ROWS)
    w = to_beats(each(rows, 2, lambda n: draw.tile(4, 1)), 3), extents(1, OUTER, outer, (4,))
    given = {"x": x, "w": w}
    if bias:
        b = to_beats(each(rows, 2, lambda n: draw.tile(1, 1)), 3)
        given["b"] = b, extents(1, OUTER, outer, (1,))
    params = Matmul(k=4, n=2, element="int8", stops=True, bias=bias)
    y = {"y": extents(1, OUTER, outer, ROWS)}
    case = alone(params, given, y, wide="y", formats={"b": (LANES, 32)})
    case.beside, case.likewise = ("w", 2, "x"), "b" if bias else ""
    return case


def matmul_add(draw: Draw) -> Case:
    return matmul(draw, bias=True)


def retile_col(draw: Draw) -> Case:
    sizes = draw.nested([OUTER], lambda: draw.one((1, 2, 3)))
    nested = [[draw.tile(n, 1) for _ in range(2)] for n in sizes]
    x = to_beats(nested, 3), extents(1, OUTER, (2,), (1, 2, 3))
    params = RetileCol(count=2, slices=1, rows=3, level=3, buffers=2, bits=8)
    return alone(params, {"x": x}, {"y": extents(2, OUTER, (1, 2, 3))})


def accumulate(draw: Draw) -> Case:
    """Chunks of equal tiles; those of static rows may be empty."""
    every, fixed = draw.one((True, False)), draw.one((True, False))
    inner = (0, 1, 2) if fixed else (1, 2)
    sizes = draw.nested([OUTER, OUTER], lambda: 2 if fixed else draw.one(ROWS))
    nested = [[[draw.tile(n, 2) for _ in range(draw.one(inner))] for n in s] for s in sizes]
    x = to_beats(nested, 4), extents(2, OUTER, OUTER, inner, (2,) if fixed else ROWS)
    add = (Operation("add", (0, 1), "int8"),)
    rows = 2 if fixed else 3
    params = Accumulate(("int8", "int8"), add, 0, 3, 2, rows, fixed, every)
    y = x[1] if every else [*x[1][:2], *x[1][3:]]
    return alone(params, {"x": x}, {"y": y})


def reduce_rows(draw: Draw) -> Case:
    slices = draw.one((1, 2, 3))
    x = tiles(draw, OUTER, OUTER, slices=slices)
    add = (Operation("add", (0, 1), "int8"),)
    params = ReduceRows("int8", "int8", add, 0, slices * LANES)
    return alone(params, {"x": x}, {"y": [*extents(1), *x[1][1:]]})


def top_k_scores(draw: Draw) -> Case:
    slices = draw.one((1, 2, 3))
    x = tiles(draw, OUTER, OUTER, rows=(1,), slices=slices)
    k = draw.one(range(1, slices * LANES + 1))
    y = [Extent(-(-k // LANES), False, "slices"), *x[1][1:]]
    return alone(TopK("int8", slices * LANES, k, scores=True), {"x": x}, {"y": y})


def top_k(draw: Draw) -> Case:
    slices = draw.one((1, 2, 3))
    beats, dims = tiles(draw, OUTER, OUTER, rows=(1,), slices=slices)
    params = TopK("int8", slices * LANES, 1, scores=False)
    channels = [
        Channel("x", LANES, 8, 3),
        Channel("y", params.columns, 1, 1, DEEP, params.delay(LANES)),
    ]
    design = between([row("dut", params, ["x"], ["y"])], channels, {"x": beats})
    return Case(design, {"x": beats}, {"x": dims, "y": dims[2:]}, ["y"])


def cut_cols(draw: Draw) -> Case:
    slices = draw.one((1, 2, 3))
    x = tiles(draw, OUTER, OUTER, rows=(1,), slices=slices)
    params = CutCols(slices * LANES, 8)
    return alone(params, {"x": x}, {"y": params.extents(x[1])})


def cut_tile(draw: Draw) -> Case:
    slices = draw.one((1, 2))
    x = tiles(draw, OUTER, OUTER, slices=slices)
    params = CutTile(slices * LANES, max(ROWS), 8)
    return alone(params, {"x": x}, {"y": params.extents(x[1])})


def shift_cols(draw: Draw) -> Case:
    x = tiles(draw, OUTER, OUTER)
    return alone(ShiftCols(1, 0, 2, 8), {"x": x}, {"y": x[1]})


def rotate_pairs(draw: Draw) -> Case:
    x = tiles(draw, OUTER, OUTER, slices=2)
    return alone(RotatePairs("int8", 2, straddles=False), {"x": x}, {"y": x[1]})


def pairs_in_two_beats(draw: Draw) -> Case:
    beats, dims = tiles(draw, OUTER, OUTER, slices=2)
    x = blank_lanes(beats, 3), dims
    return alone(RotatePairs("int8", 2, straddles=True), {"x": x}, {"y": dims}, lanes=3)


def pack_cols(draw: Draw) -> Case:
    """Rows of two parts with 4 columns each, in beats of 3 lanes."""
    beats, dims = tiles(draw, OUTER, OUTER, slices=4)
    x = blank_lanes(beats, 3), dims
    y = [Extent(3, False, "slices"), *dims[1:]]
    return alone(PackCols(2, 4, 8), {"x": x}, {"y": y}, lanes=3)


def copies_added(draw: Draw) -> Case:
    """A tile that is added to itself: nothing leaves before all of it is there."""
    beats, dims = tiles(draw, OUTER, (1,), rows=(1, 2, 3), slices=1)
    twice = [*dims[:2], Extent(2, False, "2"), dims[3]]
    first = row("dut", Expand(2, 2, 3, 0, capacity=6), ["x"], ["m"])
    add = (Operation("add", (0, 1), "int8"),)
    params = Accumulate(("int8", "int8"), add, 0, 3, 1, 3, fixed=False, every=False)
    second = row("next", params, ["m"], ["y"])
    channels = [
        Channel("x", LANES, 8, 3),
        Channel("m", LANES, 8, 3, delay=first.params.delay(LANES)),
        Channel("y", LANES, 8, 2, DEEP, second.params.delay(LANES)),
    ]
    design = between([first, second], channels, {"x": beats})
    y = [dims[0], dims[1], dims[3]]
    return Case(design, {"x": beats}, {"x": dims, "m": twice, "y": y}, ["y"])


def copies_side_by_side(draw: Draw) -> Case:
    """A tile that is joined with itself: nothing leaves before all of it is there."""
    beats, dims = tiles(draw, OUTER, (1,), rows=(1, 2, 3), slices=1)
    wide = [*dims[:2], Extent(2, False, "2"), dims[3]]
    y = [Extent(2, False, "slices"), dims[1], dims[3]]
    params = Expand(2, 2, 3, 0, capacity=6)
    first = row("dut", params, ["x"], ["m"])
    params = RetileCol(count=2, slices=1, rows=3, level=3, buffers=2, bits=8)
    second = row("next", params, ["m"], ["y"])
    channels = [
        Channel("x", LANES, 8, 3),
        Channel("m", LANES, 8, 3, delay=first.params.delay(LANES)),
        Channel("y", LANES, 8, 2, DEEP, second.params.delay(LANES)),
    ]
    design = between([first, second], channels, {"x": beats})
    return Case(design, {"x": beats}, {"x": dims, "m": wide, "y": y}, ["y"])


def load(draw: Draw, most: int = 4) -> Case:
    made = OffChip(draw, Bus(32, 32, 4, 2))
    ref, ref_dims = tiles(draw, OUTER, OUTER)
    nested = draw.nested([OUTER, OUTER], lambda: draw.tile(draw.one(ROWS), 2))
    ref = to_beats(nested, 3)
    _, result, dtype = made.load("y", nested, 2, 3, prompt=draw.one((True, False)), most=most)
    made.sink("y", result, dtype)
    design = made.design().with_depths({"y": DEEP})
    params = next(u.params for u in design.of_kind(Load))
    inner = [params.slices, params.rows, *reversed(params.shape)]
    y = [Extent(n, False, str(n)) for n in inner] + list(ref_dims[2:])
    lanes = design.channel["y_ref"].lanes
    return Case(design, {"y_ref": blank_lanes(ref, lanes)}, {"y_ref": ref_dims, "y": y}, ["y"])


def load_of_few_beats(draw: Draw) -> Case:
    return load(draw, 1)


def random_store(draw: Draw) -> Case:
    made = OffChip(draw, Bus(32, 32, 4, 2))
    rank = draw.one((0, 1))
    made.scatter("y", rank, ahead=draw.one((2, 8)), counts=(1, 2, 3))
    design = made.design().with_depths({"y": DEEP})
    params = next(u.params for u in design.of_kind(RandomStore))
    x = design.channel["y_x"]
    slices = -(-params.row_bytes * 8 // (x.lanes * x.bits))
    dims = extents(0, *[(1, 2, 3)] * (rank + 1))
    tile = [Extent(slices, False, "slices"), Extent(params.rows, False, "rows")]
    inputs = {name: made.inputs[f"s_{name}"] for name in ("y_at", "y_x")}
    known = {"y_at": dims, "y_x": [*tile, *dims], "y": dims}
    return Case(design, inputs, known, ["y"], ("y_at", 0, "y_x"), paired=True)


CASES: dict[str, tuple[Callable[[Draw], Case], ...]] = {
    "fork": (fork,),
    "pcu": (one_operand, two_operands),
    "promote": (promote,),
    "flatten": (flatten,),
    "group": (group,),
    "cap": (cap,),
    "link": (link,),
    "store_forward": (store_forward,),
    "one_hot": (one_hot,),
    "span": (span,),
    "tile_addresses": (tile_addresses,),
    "count": (count,),
    "as_flag": (as_flag,),
    "as_selector": (as_selector,),
    "as_tile": (as_tile,),
    "running_max": (running_max,),
    "place_row": (place_row,),
    "mask": (mask_cols, mask_causal),
    "reshape": (reshape,),
    "drop": (drop,),
    "partition": (partition,),
    "reassemble": (reassemble,),
    "expand": (
        expand,
        expand_by_reference,
        expand_single_beats,
        expand_single_beats_by_tiles,
    ),
    "pmu": (pmu, pmu_by_reference),
    "matmul": (matmul, matmul_add),
    "retile_col": (retile_col, copies_side_by_side),
    "accumulate": (accumulate, copies_added),
    "reduce_rows": (reduce_rows,),
    "shift_cols": (shift_cols,),
    "pack_cols": (pack_cols,),
    "rotate_pairs": (rotate_pairs, pairs_in_two_beats),
    "cut_cols": (cut_cols,),
    "cut_tile": (cut_tile,),
    "top_k": (top_k, top_k_scores),
    "load": (load, load_of_few_beats),
    "random_store": (random_store,),
}


HOLDING = (promote, flatten, drop, cap, pairs_in_two_beats)
"""Cases of units with a holding register: a beat leaves when the next one arrives."""


class Bench:
    """Runs a case with one input cut short."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.known: dict[tuple[str, int, bool], dict[str, int]] = {}

    def out(self, name: str, count: int, *, ends: bool = False) -> dict[str, int]:
        """Beats that leave by each output, ``DONE`` not counted, after `count` beats of an input.

        The other inputs are complete. With `ends` the input ends there.
        """
        key = name, count, ends
        if key not in self.known:
            given = {**self.case.inputs, name: self._cut(name, count, ends)}
            if ends and self.case.together:
                given = {other: self._cut(other, count, True) for other in given}
            if ends and name in self.case.by_tile:
                ends_at = [0, *epochs(self.case, name, self.case.by_tile[name])]
                begun = sum(end < count for end in ends_at)
                for other, level in self.case.by_tile.items():
                    if other != name:
                        behind = [0, *epochs(self.case, other, level)][begun]
                        given[other] = self._cut(other, behind, True)
            if ends and name in (self.case.beside[0], self.case.likewise):
                _, level, other = self.case.beside
                closed = int(np.sum(self.case.inputs[name].stop[:count] >= level))
                behind = np.nonzero(self.case.inputs[other].stop >= 2)[0][:closed]
                given[other] = self._cut(other, int(behind[-1]) + 1 if closed else 0, True)
            if ends and self.case.paired and name == self.case.beside[2]:
                first, closed = self.case.beside[0], self.case.inputs[name].stop[:count] >= 2
                given[first] = self._cut(first, int(np.sum(closed)), True)
            self.known[key] = self._run(given)
        return self.known[key]

    def _cut(self, name: str, count: int, ends: bool) -> Beats:
        whole = self.case.inputs[name]
        kept = np.arange(len(whole)) < count
        if ends or count >= len(whole) - 1:
            kept[-1] = True
        return Beats(*(p[kept] for p in (whole.kind, whole.stop, whole.low, whole.data)))

    def _run(self, given: Mapping[str, Beats]) -> dict[str, int]:
        ports = {f"s_{name}": beats for name, beats in given.items()}
        for unit in self.case.design.units:
            if unit.params.decides:
                ports[unit.name] = to_beats([np.ones(1, np.bool_)] * len(given["x"]), 0, bool)
        layout = DesignLayout(self.case.design, ports, memory=MemoryTiming(read_latency=3))
        M = layout.build()
        why, _ = k.run(layout.step_table(), M, 0, 1 << 16, 1 << 30)
        assert why in (k.QUIET, k.FINISHED)
        found = {}
        for name in self.case.outputs:
            c = layout.channel(name)
            n = int(M[c + k.PUSHED])
            last = int(M[k.slot.py_func(M, c, n - 1) + 2]) if n else 0
            found[name] = n - (n > 0 and last & k.KIND_MASK == DONE)
        return found


def declared(case: Case, name: str, level: int) -> dict[str, Pace]:
    """The paces of all channels that follow an input, by the levels of its clock."""
    paces = {name: Pace(level, opened=True, prompt=level == 0).normal(case.extents[name])}
    for unit in case.design.units:
        if unit.name not in ("dut", "next", "y"):
            continue
        for part in unit.params.parts(unit, case.extents):
            known = {n: replace(paces[n], closed="") for n in part.inputs if n in paces}
            for out, pace in part.follow(known).items() if known else ():
                queue = part.queues.get(out)
                paces[out] = pace.normal(queue.extents if queue else case.extents[out])
    return paces


def epochs(case: Case, name: str, level: int) -> list[int]:
    """How many beats of an input there are up to the end of each epoch."""
    beats = case.inputs[name]
    ends = (beats.stop >= level) & (beats.kind != DONE)
    return [int(n) + 1 for n in np.nonzero(ends)[0]]


Question = tuple[Case, Bench, str, int, str, Pace, bool, list[int], list[int]]


def questions(make: Callable[[Draw], Case]) -> Iterator[Question]:
    """Every clock of every drawn case, with each pace and the beats due in each epoch."""
    for seed in range(SEEDS):
        case = make(Draw(seed))
        bench = Bench(case)
        for name in case.inputs:
            for level in range(len(case.extents[name])):
                paces = declared(case, name, level)
                closed = any(p.closed for p in paces.values())
                ends = epochs(case, name, level)
                for out in case.outputs:
                    due = [bench.out(name, end, ends=True)[out] for end in ends]
                    if out in paces and paces[out].aligned:
                        yield case, bench, name, level, out, paces[out], closed, ends, due


def test_every_kind_says_how_it_passes_streams_on():
    assert set(CASES) == set(load_all()) - WITHOUT_PACE


@pytest.mark.parametrize(
    "make", [m for makes in CASES.values() for m in makes], ids=lambda m: m.__name__
)
def test_units_keep_what_they_declare(make):
    found: Counter[str] = Counter()
    for case, bench, name, level, out, pace, closed, ends, due in questions(make):
        pads = make is reshape and level <= 2
        for e, (end, all_due) in enumerate(zip(ends, due, strict=True)):
            before, begin = (due[e - 1], ends[e - 1]) if e else (0, 0)
            where = f"{name} level {level}, {out}, epoch {e}, {pace}"
            found["epochs"] += 1
            if pads:  # the end that was put there is filled up
                continue
            assert all_due - before <= pace.room(case.extents[out]), where
            assert pace.sparse or all_due > before, where
            found["late"] += bench.out(name, end)[out] < all_due
            if pace.lag < math.inf:
                last = e + int(pace.lag)
                seen = ends[last] if last < len(ends) else len(case.inputs[name])
                assert bench.out(name, seen)[out] >= all_due, where
            if pace.opened and all_due > before:
                assert bench.out(name, begin + 1)[out] > before, where
            if pace.prompt:
                assert bench.out(name, begin + 1)[out] >= all_due, where
                found["prompt"] += end > begin + 1 and all_due > before
            if closed and end > begin + 1 and case.inputs[name].kind[end - 1] != BARE:
                assert bench.out(name, end - 1)[out] <= before, where
                found["closed"] += 1
    assert found["epochs"] > 10
    assert bool(found["late"]) == (make in HOLDING), found
    waits = (matmul, matmul_add, cut_tile, copies_side_by_side, copies_added)
    assert bool(found["closed"]) == (make in waits), found
    assert not found["prompt"] or make in (load, load_of_few_beats, reshape), found
