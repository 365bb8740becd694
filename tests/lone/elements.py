"""Cases of units that compute, or move elements within tiles."""

from dataclasses import replace

import numpy as np
from drawn import LANES, Draw, blank_lanes, to_beats
from harness import row
from lone.case import DEEP, OUTER, ROWS, Case, alone, between, extents, tiles

from stepgen.hw.arithmetic.operations import Operation
from stepgen.hw.design.pace import Extent
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.table import Channel
from stepgen.hw.units.accumulate.params import Accumulate
from stepgen.hw.units.cut_cols.params import CutCols
from stepgen.hw.units.cut_tile.params import CutTile
from stepgen.hw.units.expand.params import Expand
from stepgen.hw.units.join_lanes.params import JoinLanes
from stepgen.hw.units.limit.params import Limit
from stepgen.hw.units.locate.params import Locate
from stepgen.hw.units.mask.params import Mask
from stepgen.hw.units.matmul.params import Matmul
from stepgen.hw.units.matvec.params import Matvec
from stepgen.hw.units.pack_cols.params import PackCols
from stepgen.hw.units.pcu.params import Pcu
from stepgen.hw.units.place_row.params import PlaceRow
from stepgen.hw.units.reduce_rows.params import ReduceRows
from stepgen.hw.units.retile_col.params import RetileCol
from stepgen.hw.units.rotate_pairs.params import RotatePairs
from stepgen.hw.units.running_max.params import RunningMax
from stepgen.hw.units.shift_cols.params import ShiftCols
from stepgen.hw.units.split_lanes.params import SplitLanes
from stepgen.hw.units.top_k.params import TopK
from stepgen.hw.units.turn_slices.params import TurnSlices


def one_operand(draw: Draw) -> Case:
    x = tiles(draw, OUTER)
    scaled = Pcu(("int32",), (Operation("requantize", (0,), "int8", (1, 1)),))
    return alone(scaled, {"x": x}, {"y": x[1]}, wide="x")


def two_operands(draw: Draw) -> Case:
    a = tiles(draw, OUTER)
    added = Pcu(("int8", "int8"), (Operation("add", (0, 1), "int8"),))
    return replace(alone(added, {"a": a, "b": a}, {"y": a[1]}), together=True)


def running_max(draw: Draw) -> Case:
    x = tiles(draw, OUTER, slices=2)
    return alone(RunningMax("int8", 2 * LANES, 1), {"x": x}, {"y": x[1]})


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


def mask_rows(draw: Draw) -> Case:
    return by_number(Mask(0, 2, 8, "rows", rows=max(ROWS)), draw, ROWS, "at")


def mask_causal(draw: Draw) -> Case:
    return by_number(Mask(0, 2, 8, "both", True, 2, max(ROWS)), draw, ROWS, "last_at", "first_at")


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


def matvec(draw: Draw, *, transposed: bool = False, folds: bool = False) -> Case:
    """Rows of two beats, and tiles of four rows of a beat or two of two."""
    tile, beats = (2, 2) if transposed else (4, 1)
    dims = (OUTER, OUTER)
    outer = draw.nested(dims, lambda: None)

    def each(leaf):
        return [[leaf() for _ in group] for group in outer]

    x = to_beats(each(lambda: draw.tile(1, 2)), 3), extents(2, *dims, (1,))
    w = to_beats(each(lambda: draw.tile(tile, beats)), 3), extents(beats, *dims, (tile,))
    params = Matvec(k=4, n=2, element="int8", stops=True, transposed=transposed, folds=folds)
    y = {"y": extents(1, *dims[folds:], (1,))}
    return replace(alone(params, {"x": x, "w": w}, y, wide="y"), by_tile={"x": 2, "w": 2})


def matvec_transposed(draw: Draw) -> Case:
    return matvec(draw, transposed=True)


def matvec_folded(draw: Draw) -> Case:
    return matvec(draw, folds=True)


def matvec_of_any_rows(draw: Draw) -> Case:
    """Rows of one to three elements, which come one by one, and tiles of as many rows."""
    dims = (OUTER, OUTER)
    sizes = draw.nested(dims, lambda: draw.one(ROWS[1:]))

    def each(leaf):
        return [[leaf(n) for n in group] for group in sizes]

    beats = blank_lanes(to_beats(each(lambda n: [[np.ones(1)] * n]), 3), 1)
    x = beats, extents(max(ROWS), *dims, (1,))
    w = to_beats(each(lambda n: draw.tile(n, 2)), 3), extents(2, *dims, ROWS[1:])
    params = Matvec(k=max(ROWS), n=4, element="int8", stops=True, dynamic=True)
    y = {"y": extents(2, *dims, (1,))}
    return replace(alone(params, {"x": x, "w": w}, y, wide="y"), by_tile={"x": 2, "w": 2})


def matvec_turned(draw: Draw) -> Case:
    """Rows of two slices, and tiles of two columns each."""
    dims = (OUTER, OUTER)
    outer = draw.nested(dims, lambda: None)

    def each(leaf):
        return [[leaf() for _ in group] for group in outer]

    x = to_beats(each(lambda: draw.tile(1, 2)), 3), extents(2, *dims, (1,))
    w = to_beats(each(lambda: draw.tile(2, 4)), 3), extents(4, *dims, (2,))
    params = Matvec(k=4, n=4, element="bf16", stops=True, turned=True)
    y = {"y": extents(2, *dims, (1,))}
    case = alone(params, {"x": x, "w": w}, y, wide="y", formats=dict.fromkeys("xw", (LANES, 16)))
    return replace(case, by_tile={"x": 2, "w": 2})


def turn_slices(draw: Draw) -> Case:
    """Rows of one beat, whose columns are two."""
    x = tiles(draw, OUTER, OUTER, rows=ROWS[1:], slices=1)
    params = TurnSlices(columns=LANES, bits=8)
    return alone(params, {"x": x}, {"y": params.turned(x[1], LANES)})


def join_lanes(draw: Draw) -> Case:
    """Rows of three elements, which are two slices."""
    nested = draw.nested([OUTER], lambda: [[np.ones(1)] * 3 for _ in range(draw.one(ROWS))])
    x = blank_lanes(to_beats(nested, 2), 1), extents(3, OUTER, ROWS)
    return alone(JoinLanes(bits=8), {"x": x}, {"y": extents(2, OUTER, ROWS)})


def split_lanes(draw: Draw) -> Case:
    """Slices that are full: nothing in their last lane."""
    slices = draw.one((1, 2))
    row = [np.array([1, 2, 0])] * slices
    nested = draw.nested([OUTER], lambda: [row] * draw.one(ROWS))
    x = blank_lanes(to_beats(nested, 2), LANES + 1), extents(slices, OUTER, ROWS)
    y = {"y": extents(slices * LANES, OUTER, ROWS)}
    return alone(SplitLanes(bits=8), {"x": x}, y, formats={"y": (1, 8)})


def limit(draw: Draw) -> Case:
    x, dims = tiles(draw, OUTER)
    return alone(Limit(most=max(ROWS), level=1), {"x": (x, dims)}, {"y": dims})


def matmul_of_any_size(draw: Draw) -> Case:
    """Of transposed tiles of full slices, whose rows are the columns of the result."""
    sizes = draw.nested([OUTER], lambda: (draw.one(ROWS[1:]), draw.one((2, 4))))
    x = to_beats([draw.tile(m, 1) for m, _ in sizes], 2), extents(1, OUTER, ROWS[1:])
    w = to_beats([draw.tile(n, 1) for _, n in sizes], 2), extents(1, OUTER, (2, 4))
    params = Matmul(k=2, n=4, element="int8", stops=True, transposed=True, dynamic="n")
    y = {"y": extents(2, OUTER, ROWS[1:])}
    case = alone(params, {"x": x, "w": w}, y, formats={"y": (LANES + 1, 32)})
    case.beside = ("w", 2, "x")
    return case


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


def locate(draw: Draw) -> Case:
    slices, level = draw.one((1, 2, 3)), draw.one((2, 3))
    beats, dims = tiles(draw, OUTER, (1, 2), rows=(1,), slices=slices)
    columns = slices * LANES - draw.one((0, 1))
    params = Locate("int8", "address", columns, level, False)
    formats = {"y": (1, 8)}
    return alone(params, {"x": (beats, dims)}, {"y": dims[level:]}, formats=formats)


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
    width = draw.one([n for n in (1, 2, 3, 4, 6) if slices * LANES % n == 0])
    params = CutCols(slices * LANES, width, 8)
    return alone(params, {"x": x}, {"y": params.extents(x[1])})


def rows_spread(draw: Draw) -> Case:
    x = tiles(draw, OUTER, OUTER, slices=3)
    params = CutCols(3 * LANES, 3, 8, apart=False)
    return alone(params, {"x": x}, {"y": [*extents(4), *x[1][1:]]})


def cut_tile(draw: Draw) -> Case:
    slices = draw.one((1, 2))
    x = tiles(draw, OUTER, OUTER, slices=slices)
    params = CutTile(slices * LANES, draw.one((1, LANES)), max(ROWS), 8)
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
    add = (Operation("add", (0, 1), "int8"),)
    params = Accumulate(("int8", "int8"), add, 0, 3, 1, 3, fixed=False, every=False)
    return copies(draw, params, slices=1)


def copies_side_by_side(draw: Draw) -> Case:
    """A tile that is joined with itself: nothing leaves before all of it is there."""
    params = RetileCol(count=2, slices=1, rows=3, level=3, buffers=2, bits=8)
    return copies(draw, params, slices=2)


def copies(draw: Draw, params: UnitParams, slices: int) -> Case:
    """A tile, sent twice to a unit that makes one of both, with rows of `slices` beats."""
    beats, dims = tiles(draw, OUTER, (1,), rows=(1, 2, 3), slices=1)
    twice = [*dims[:2], Extent(2, False, "2"), dims[3]]
    y = [Extent(slices, False, "slices"), dims[1], dims[3]]
    first = row("dut", Expand(2, 2, 3, 0, capacity=6), ["x"], ["m"])
    second = row("next", params, ["m"], ["y"])
    channels = [
        Channel("x", LANES, 8, 3),
        Channel("m", LANES, 8, 3, delay=first.params.delay(LANES)),
        Channel("y", LANES, 8, 2, DEEP, params.delay(LANES)),
    ]
    design = between([first, second], channels, {"x": beats})
    return Case(design, {"x": beats}, {"x": dims, "m": twice, "y": y}, ["y"])
