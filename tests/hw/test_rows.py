"""Units that work along rows: reductions and shifts against their golden models."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from drawn import LANES, Draw, raises_error, to_beats, verify
from harness import lone
from seeds import one_seed_each, some_slow

import stepgen as sg
from stepgen.hw.arithmetic.operations import Operation
from stepgen.hw.design.table import Channel
from stepgen.hw.units.reduce_rows.params import ReduceRows
from stepgen.hw.units.rotate_pairs.params import RotatePairs
from stepgen.hw.units.running_max.params import RunningMax
from stepgen.hw.units.shift_cols.params import ShiftCols
from stepgen.ir.dtypes import INTEGERS, NUMBERS, wide
from stepgen.ir.errors import StepError
from stepgen.ir.function import Mapped
from stepgen.ir.setting import Setting
from stepgen.semantics import numbers
from stepgen.timing.model import predict

ELEMENTS = {element.name: element for element in NUMBERS}


def values(draw: Draw, element: sg.ElementType, rows: int, cols: int) -> np.ndarray:
    """A tile whose sums round, with special numbers among floats."""
    if element in INTEGERS:
        info = np.iinfo(element.name)
        return draw.rng.integers(info.min, info.max + 1, (rows, cols)).astype(element.name)
    dtype = ml_dtypes.bfloat16 if element is sg.bf16 else np.float32
    special = draw.rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan], (rows, cols))
    plain = draw.rng.normal(size=(rows, cols)) * 2.0 ** draw.rng.integers(-9, 9, (rows, cols))
    some = draw.rng.random((rows, 1)) < draw.one((0.0, 0.2))
    zero = draw.rng.random((rows, 1)) < 0.2
    tile = np.where(some & (draw.rng.random((rows, cols)) < 0.3), special, plain)
    return np.where(zero, -0.0, tile).astype(dtype)


def beats(draw: Draw, tile: np.ndarray, lanes: int = LANES) -> list:
    """A tile as rows of beats, with junk behind the end of a row."""
    spare = -tile.shape[1] % lanes
    junk = draw.rng.integers(0, 256, (len(tile), spare * tile.itemsize), np.uint8)
    padded = np.concatenate([tile, junk.view(tile.dtype).reshape(len(tile), spare)], axis=1)
    return [list(row.reshape(-1, lanes)) for row in padded]


def mapped(items, depth, change):
    """Lists nested `depth` deep with every leaf changed."""
    return [mapped(i, depth - 1, change) for i in items] if depth else change(items)


def channel(
    draw: Draw, name: str, rank: int, tile: sg.Tile, delay: int = 0, lanes: int = LANES
) -> Channel:
    """The channel of such tiles, of drawn depth."""
    depth = draw.channel(name, rank).depth
    tail = tile.cols.static % lanes
    return Channel(name, lanes, tile.element.bits, rank, depth, delay, tile.element.name, tail)


def agrees(draw: Draw, fn: Mapped, x: sg.Tile, y: sg.Tile, lanes: int = LANES) -> None:
    """Compare the unit of a function, for drawn tiles, with its golden model."""
    unit = fn.unit(lanes, [x, y], [False])
    outer = [draw.one(((0,), (1, 3), (4,))), *[(0, 1, 2)] * draw.one((0, 1))]
    tiles = draw.nested(
        outer, lambda: values(draw, x.element, draw.one((0, 1, 2, 5)), x.cols.static)
    )
    at = Setting(y, numbers.DTYPES[y.element.name], lanes)
    rank = 1 + len(outer)
    heads = [channel(draw, "x", rank, x, lanes=lanes)]
    tails = [channel(draw, "y", rank, y, unit.delay(lanes), lanes)]
    design = lone(unit, heads, tails, lanes)
    given = to_beats(mapped(tiles, rank - 1, lambda t: beats(draw, t, lanes)), rank, at_of(x))
    due = mapped(tiles, rank - 1, lambda t: beats(draw, fn.compute(at, t), lanes))
    verify(design, {"s_x": given}, {"d_y": to_beats(due, rank, at_of(y))}, draw.stalls(design))


def at_of(tile: sg.Tile) -> np.dtype:
    return numbers.DTYPES[tile.element.name]


@pytest.mark.parametrize(("seed", "name"), one_seed_each(range(8), ELEMENTS))
def test_rows_are_reduced(seed, name):
    draw, element = Draw(seed), ELEMENTS[name]
    cols = draw.one((1, 2, 3, 4, 5, 7, 8, 11, 14))
    fn = draw.one((sg.fn.row_sum(), sg.fn.row_sum(), sg.fn.row_max()))
    made = wide(ELEMENTS[name]) if fn == sg.fn.row_sum() else element
    agrees(draw, fn, sg.Tile(5, cols, element), sg.Tile(5, 1, made))


@pytest.mark.parametrize("seed", some_slow(range(20), 5))
def test_columns_are_shifted(seed):
    draw = Draw(seed)
    cols, element = draw.one((1, 2, 3, 6, 7)), draw.one((sg.int8, sg.bf16))
    fn = sg.fn.shift_cols(by=draw.one((1, 1, 2, 3, 4, 5, 9)), fill=draw.one((-3, 0, 5)))
    tile = sg.Tile(5, cols, element)
    agrees(draw, fn, tile, tile)


@pytest.mark.parametrize(("seed", "name"), one_seed_each(range(8), ELEMENTS))
def test_pairs_are_turned(seed, name):
    """With odd lanes they lie in one beat, or in two."""
    draw, element = Draw([seed, 7]), ELEMENTS[name]
    tile = sg.Tile(5, draw.one((2, 4, 6, 8, 10, 12)), element)
    agrees(draw, sg.fn.rotate_pairs(), tile, tile, draw.one((1, 2, 3, 3, 4, 5)))


@pytest.mark.parametrize(("seed", "name"), one_seed_each(range(7), ELEMENTS))
def test_maxima_that_decay(seed, name):
    """By whole numbers; floats round after each column."""
    draw, element = Draw([seed, 5]), ELEMENTS[name]
    whole, some = (0, 1, 2, 77, 255, 1 << 30, 1 << 40), (0, 0.3, 1.25, 1e-9, 1e-42, np.inf)
    decay = draw.one(whole if name.startswith("int") else some)
    fn = sg.fn.running_max(decay)
    tile = sg.Tile(5, draw.one((1, 2, 3, 6, 7, 12)), element)
    agrees(draw, fn, tile, tile)


@pytest.mark.parametrize("name", map(str, INTEGERS))
def test_maxima_that_decay_are_those_of_whole_numbers(name):
    """Column by column, in Python's integers."""
    draw, element = Draw([1, len(name)]), ELEMENTS[name]
    for decay in (0, 1, 7, 1 << 30, 1 << 40):
        x, tile = values(draw, element, 4, 9), sg.Tile(4, 9, element)
        made = sg.fn.running_max(decay).compute(Setting(tile, at_of(tile), LANES), x)
        for row, found in zip(x.tolist(), made.tolist(), strict=True):
            last = row[0]
            for number, mine in zip(row, found, strict=True):
                last = max(number, last - decay)
                assert mine == last


def test_a_sum_does_not_depend_on_lanes():
    x = values(Draw(1), sg.f32, 40, 23)
    at = [Setting(sg.Tile(40, 1, sg.f32), np.dtype(np.float32), lanes) for lanes in (1, 4, 16)]
    one, *others = (sg.fn.row_sum().compute(a, x) for a in at)
    assert all(np.array_equal(one, other, equal_nan=True) for other in others)


def test_a_beat_per_cycle():
    draw = Draw(1)
    x, y = sg.Tile(9, 14, sg.f32), sg.Tile(9, 1, sg.f32)
    unit = sg.fn.row_sum().unit(LANES, [x, y], [False])
    assert unit.delay(LANES) == 4 * 10
    out = Channel("y", LANES, 32, 2, unit.delay(LANES) + 3, unit.delay(LANES))
    design = lone(unit, [Channel("x", LANES, 32, 2)], [out])
    given = to_beats([beats(draw, values(draw, sg.f32, 9, 14)) for _ in range(3)], 2, np.float32)
    predicted = predict(design, {"s_x": given})
    assert predicted.pops["x"][-1] - predicted.pops["x"][0] == 3 * 9 * 7
    assert list(predicted.pushes["y"][:-1]) == list(predicted.pops["x"][6:-1:7])


@pytest.mark.parametrize(("lanes", "held"), [(2, 0), (1, 1), (3, 1)])
def test_pairs_are_turned_at_one_beat_per_cycle(lanes, held):
    """Where a pair may lie in two beats, each is held for a cycle."""
    draw, tile = Draw(1), sg.Tile(9, 12, sg.int8)
    unit = sg.fn.rotate_pairs().unit(lanes, [tile, tile], [False])
    out = Channel("y", lanes, 8, 2, unit.delay(lanes) + 4, unit.delay(lanes))
    design = lone(unit, [Channel("x", lanes, 8, 2)], [out], lanes)
    rows = [beats(draw, values(draw, sg.int8, 9, 12), lanes) for _ in range(3)]
    predicted = predict(design, {"s_x": to_beats(rows, 2)})
    pops, pushes = (np.asarray(at[:-1]) for at in (predicted.pops["x"], predicted.pushes["y"]))
    assert pops[-1] - pops[0] == 3 * 9 * -(-12 // lanes) - 1
    assert set(pushes - pops) == {held}


ADD = (Operation("add", (0, 1), "int8"),)


def reduction(**changed):
    return ReduceRows(
        **{
            "operand": "int8",
            "element": "int8",
            "operations": ADD,
            "identity": 0,
            "columns": 6,
            **changed,
        }
    )


@pytest.mark.parametrize(
    ("unit", "cols", "wrong"),
    [
        (reduction(), 6, False),
        (reduction(), 4, True),
        (reduction(), 8, True),
        (ShiftCols(3, 0, 3, 8), 6, False),
        (ShiftCols(3, 0, 3, 8), 4, True),
        (ShiftCols(3, 0, 3, 8), 8, True),
        (RotatePairs("int8", 3, False), 6, False),
        (RotatePairs("int8", 3, False), 4, True),
        (RotatePairs("int8", 3, False), 8, True),
        (RunningMax("int8", 6, 3), 6, False),
        (RunningMax("int8", 6, 3), 4, True),
        (RunningMax("int8", 6, 3), 8, True),
    ],
)
def test_rows_of_another_length(unit, cols, wrong):
    draw = Draw(1)
    delay = unit.delay(LANES)
    out = Channel("y", LANES, 8, 2, depth=delay + 3, delay=delay)
    design = lone(unit, [Channel("x", LANES, 8, 2)], [out])
    x = to_beats([beats(draw, values(draw, sg.int8, 2, cols))], 2)
    assert raises_error(design, {"s_x": x}, limit=60) == wrong


@pytest.mark.parametrize(
    ("unit", "x", "message"),
    [
        (reduction(element="int7"), (2, 8, 2), "reduce_rows dut: int7 is not an element type"),
        (reduction(operand="int7"), (2, 8, 2), "reduce_rows dut: int7 is not an element type"),
        (reduction(columns=0), (2, 8, 2), "reduce_rows dut: a row needs at least 1 column, not 0"),
        (reduction(identity=256), (2, 8, 2), "reduce_rows dut: 256 is not a bit pattern of int8"),
        (
            reduction(operations=(Operation("lt", (0, 1), "bool"),)),
            (2, 8, 2),
            "reduce_rows dut: a pair of int8 makes bool",
        ),
        (reduction(), (2, 8, 0), "reduce_rows dut: x must have rows"),
        (reduction(), (2, 8, 2, 2, 0, "bool"), "reduce_rows dut: x must carry int8, not bool"),
        (reduction(), (2, 16, 2), "reduce_rows dut: x must be of rank 2 with 2 lanes of 8 bits"),
        (ShiftCols(1, 0, 3, 8), (2, 8, 0), "shift_cols dut: x must have rows"),
        (ShiftCols(0, 0, 3, 8), (2, 8, 2), "shift_cols dut: columns are shifted by at least 1"),
        (ShiftCols(1, 0, 0, 8), (2, 8, 2), "shift_cols dut: columns are shifted by at least 1"),
        (ShiftCols(1, 256, 3, 8), (2, 8, 2), "shift_cols dut: 256 is not a pattern of 8 bits"),
        (ShiftCols(1, 0, 3, 8), (2, 16, 2), "shift_cols dut: x must be of rank 2 with 2 lanes"),
        (RotatePairs("int8", 3, False), (2, 8, 0), "rotate_pairs dut: x must have rows"),
        (
            RotatePairs("bool", 3, False),
            (2, 1, 2),
            "rotate_pairs dut: bool is not a type of numbers",
        ),
        (RotatePairs("int8", 0, False), (2, 8, 2), "rotate_pairs dut: a row must have at least 1"),
        (RotatePairs("int8", 3, True), (2, 8, 2), "rotate_pairs dut: pairs in 3 beats of 2 lanes"),
        (RotatePairs("int32", 3, False), (2, 8, 2, 2, 0, "int8"), "rotate_pairs dut: x must carry"),
        (RotatePairs("int8", 3, False), (2, 8, 2), "rotate_pairs dut: y must be of rank 2 .* late"),
        (RunningMax("int8", 3, 1), (2, 8, 0), "running_max dut: x must have rows"),
        (
            RunningMax("bool", 3, 1),
            (2, 1, 2),
            "running_max dut: it works on int8, int16, int32, bf",
        ),
        (
            RunningMax("bf16", 3, 1 << 16),
            (2, 16, 2),
            "running_max dut: 65536 is not a bit pattern of",
        ),
        (RunningMax("int8", 0, 1), (2, 8, 2), "running_max dut: a row needs at least 1 column"),
        (RunningMax("int8", 3, -1), (2, 8, 2), "running_max dut: the decay must be at least 0"),
        (RunningMax("int8", 3, 1), (2, 8, 2), "running_max dut: y must be of rank 2 .* late, not"),
    ],
)
def test_what_can_not_be_built(unit, x, message):
    with pytest.raises(StepError, match=message):
        lone(unit, [Channel("x", *x)], [Channel("y", 2, 8, 2)])
