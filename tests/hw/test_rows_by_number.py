"""Units that go by the number of a row or column: placed rows and masks, against golden models."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import LANES, Draw, raises_error, to_beats, verify
from harness import beats, check, lone
from hw.test_rows import ELEMENTS, at_of, channel, mapped, values
from hw.test_rows import beats as beats_of_rows
from seeds import one_seed_each, some_slow

import stepgen as sg
from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.table import Channel
from stepgen.hw.units.mask.params import Mask
from stepgen.hw.units.place_row.params import PlaceRow
from stepgen.ir.errors import StepError
from stepgen.ir.setting import Setting
from stepgen.ir.stalls import Stalls
from stepgen.timing.model import Fault, predict

BITS = 9


def agrees(draw: Draw, fn, element: sg.ElementType, cols: int, rows, beside) -> None:
    """Compare the unit of a function with its golden model.

    `beside` draws, for a tile, its other operands: rows, and numbers.
    """
    tile = sg.Tile(5, cols, element)
    outer = [draw.one(((0,), (1, 3), (4,))), *[(0, 1, 2)] * draw.one((0, 1))]
    depth, rank = len(outer), len(outer) + 1

    def drawn():
        x = values(draw, element, draw.one(rows), cols)
        return [x, *beside(x)]

    sets = draw.nested(outer, drawn)
    first = mapped(sets, depth, lambda s: s)
    some = drawn()
    kinds = [sg.Tile(*o.shape, sg.address if o.dtype == np.uint64 else element) for o in some[1:]]
    unit = fn.unit(LANES, [tile, *kinds, tile], [False] * len(some))
    at = Setting(tile, at_of(tile), LANES)
    heads, given = [], {}
    for n, port in enumerate(unit.inputs):
        chosen = mapped(first, depth, lambda s, n=n: s[n])
        if n and kinds[n - 1].element is sg.address:
            heads.append(draw.channel(port, rank - 2, lanes=1, bits=BITS))
            flat = mapped(chosen, depth, lambda o: o[0])
            given[f"s_{port}"] = to_beats(flat, rank - 2, np.uint64)
        else:
            heads.append(channel(draw, port, rank, tile))
            rowed = mapped(chosen, depth, lambda o: beats_of_rows(draw, o))
            given[f"s_{port}"] = to_beats(rowed, rank, at_of(tile))
    design = lone(unit, heads, [channel(draw, "y", rank, tile, unit.delay(LANES))])
    due = mapped(sets, depth, lambda s: beats_of_rows(draw, fn.compute(at, *s)))
    verify(design, given, {"d_y": to_beats(due, rank, at_of(tile))}, draw.stalls(design))


def number(n) -> np.ndarray:
    return np.full((1, 1), n, np.uint64)


@pytest.mark.parametrize(("seed", "name"), one_seed_each(range(6), ELEMENTS))
def test_a_row_is_placed(seed, name):
    draw, element = Draw([seed, 1]), ELEMENTS[name]
    cols = draw.one((1, 2, 3, 4, 5, 8))

    def beside(x):
        return values(draw, element, 1, cols), number(draw.rng.integers(len(x)))

    agrees(draw, sg.fn.place_row(), element, cols, (1, 2, 3, 6), beside)


@pytest.mark.parametrize("seed", some_slow(range(12), 3))
def test_rows_are_placed(seed):
    """Of each tile as many as it has behind the first one, or fewer."""
    draw = Draw([seed, 7])
    cols = draw.one((1, 2, 3, 4, 5, 8))

    def beside(x):
        first = int(draw.rng.integers(len(x)))
        count = int(draw.rng.integers(1, len(x) - first + 1))
        return values(draw, sg.int8, count, cols), number(first)

    agrees(draw, sg.fn.place_rows(), sg.int8, cols, (1, 2, 3, 6), beside)


@pytest.mark.parametrize(("place", "count", "missing"), [(0, 3, 2), (1, 2, 2), (3, 2, 3)])
def test_rows_that_the_tile_does_not_have(place, count, missing):
    design = lone(
        PlaceRow(1, 8),
        [Channel("x", 2, 8, 2, 9), Channel("row", 2, 8, 2, 9), Channel("at", 1, BITS, 0, 9)],
        [Channel("y", 2, 8, 2, 9)],
    )
    given = {
        "s_x": beats([([1, 2], 1), ([3, 4], 2)], 2),
        "s_row": beats([*[([5, 6], 1)] * (count - 1), ([5, 6], 2)], 2),
        "s_at": beats([([place], 0)], 1, np.uint64),
    }
    assert raises_error(design, given, limit=60)
    with pytest.raises(Fault, match=f"is to replace row {missing} of a tile with fewer rows"):
        predict(design, given)


@pytest.mark.parametrize(("seed", "name"), one_seed_each(range(6), ELEMENTS))
def test_columns_are_masked(seed, name):
    draw, element = Draw([seed, 2]), ELEMENTS[name]
    cols, value = draw.one((1, 2, 3, 4, 5, 8)), draw.one((0, -7, 100))
    most = draw.one((cols + 2, (1 << BITS) - 1))

    def beside(x):
        return (number(draw.rng.integers(most + 1)),)

    agrees(draw, sg.fn.mask_cols(value), element, cols, (0, 1, 2, 5), beside)


@pytest.mark.parametrize(("seed", "name"), one_seed_each(range(6), ELEMENTS))
def test_rows_are_masked(seed, name):
    draw, element = Draw([seed, 4]), ELEMENTS[name]
    cols, value = draw.one((1, 2, 3, 4, 5, 8)), draw.one((0, -7, 100))
    most = draw.one((7, (1 << BITS) - 1))

    def beside(x):
        return (number(draw.rng.integers(most + 1)),)

    agrees(draw, sg.fn.mask_rows(value), element, cols, (0, 1, 2, 5), beside)


@pytest.mark.parametrize("fn", [sg.fn.mask_cols, sg.fn.mask_rows])
@pytest.mark.parametrize("seed", some_slow(range(8), 2))
def test_positions_are_masked_by_column_or_row(seed, fn):
    draw = Draw([seed, 5])
    element = ELEMENTS[draw.one(sorted(ELEMENTS))]
    cols, window = draw.one((1, 2, 3, 4, 5, 8)), draw.one((None, 1, 3, 600))
    least, most = draw.one(((0, cols + 2), (0, (1 << BITS) - 1), (500, 511)))

    def beside(x):
        return [number(n) for n in draw.rng.integers(least, most, 2)]

    agrees(draw, fn(-7, window), element, cols, (0, 1, 2, 5), beside)


@pytest.mark.parametrize(("seed", "name"), one_seed_each(range(8), ELEMENTS))
def test_later_positions_are_masked(seed, name):
    draw, element = Draw([seed, 3]), ELEMENTS[name]
    cols, window = draw.one((1, 2, 3, 4, 5, 8)), draw.one((None, 1, 3, 600))
    least, most = draw.one(((0, cols + 2), (0, (1 << BITS) - 1), (500, 511)))

    def beside(x):
        return [number(n) for n in draw.rng.integers(least, most, 2)]

    agrees(draw, sg.fn.mask_causal(-7, window), element, cols, (0, 1, 2, 5), beside)


@pytest.mark.parametrize("lanes", [1, 4])
def test_rows_of_any_length_are_masked(lanes):
    """As scores of a cache are; bounds of columns and positions need not be known."""
    g, tiles = sg.Graph("masked"), 6
    rng = np.random.default_rng(lanes)
    lengths, heights = [1, 9, 4, 2, 7, 3], [3, 1, 0, 2, 3, 3]
    bounded, rows = sg.ragged("T", bound=9, positive=True), sg.ragged("R", bound=3)
    x = g.input("x", sg.Tile(rows, bounded, sg.bf16), (tiles,))
    free = g.input("free", sg.Tile(2, sg.dynamic("F", positive=True), sg.int8), (tiles,))
    p, q, n = (g.input(name, sg.address[1, 1], (tiles,)) for name in "pqn")
    for name in ("mask_causal", "mask_cols", "mask_rows"):
        g.output(x.map(getattr(sg.fn, name)(-7, 3, 12), p, q), name)
        g.output(free.map(getattr(sg.fn, name)(-7), p, q), f"{name}_free")
    g.output(x.map(sg.fn.mask_cols(-7), n), "counted")
    inputs = {
        "x": [rng.standard_normal((r, c)) for r, c in zip(heights, lengths, strict=True)],
        "free": rng.integers(-128, 128, (tiles, 2, 5)),
        **{name: rng.integers(0, 12, tiles) for name in "pqn"},
    }
    names = [node.name for node in g.nodes if node.op == "output"]
    stalls = Stalls(lanes, {"x": 0.3, "p": 0.5, names[0]: 0.6})
    run = Experiment(g, inputs, lanes=lanes, stalls=stalls)
    check(run.design, run.beats, {y: run.reference.beats(y, lanes) for y in names}, stalls)


def test_more_rows_than_positions_are_masked():
    g = sg.Graph("masked")
    x = g.input("x", sg.int8[40, 4], (2,))
    p, q = (g.input(name, sg.address[1, 1], (2,)) for name in "pq")
    for name in ("mask_causal", "mask_rows"):
        g.output(x.map(getattr(sg.fn, name)(-7, most=3), p, q), name)
    run = Experiment(g, {"x": np.ones((2, 40, 4), np.int8), "p": [3, 0], "q": [0, 3]}, lanes=4)
    due = {y: run.reference.beats(y, 4) for y in ("mask_causal", "mask_rows")}
    check(run.design, run.beats, due, None)


@pytest.mark.parametrize(("row", "col"), [(510, 510), (511, 0), (0, 511)])
def test_a_position_that_is_too_large_stops_the_unit(row, col):
    design = lone(
        Mask(0, 1, 8, "both", True),
        [Channel("x", 2, 8, 2, 9), *(Channel(n, 1, BITS, 0, 9) for n in ("last", "first"))],
        [Channel("y", 2, 8, 2, 9, 3)],
    )
    given = {"s_x": beats([([1, 2], 2)], 2)}
    given |= {f"s_{n}": beats([([p], 0)], 1, np.uint64) for n, p in (("last", row), ("first", col))}
    wrong = 511 in (row, col)
    assert raises_error(design, given, limit=60) is wrong
    if wrong:
        with pytest.raises(Fault, match="gets the position 511, and takes positions below 511"):
            predict(design, given)


@pytest.mark.parametrize(("place", "wrong"), [(1, False), (2, True), (511, True)])
def test_a_row_that_the_tile_does_not_have(place, wrong):
    design = lone(
        PlaceRow(1, 8),
        [Channel("x", 2, 8, 2, 9), Channel("row", 2, 8, 2, 9), Channel("at", 1, BITS, 0, 9)],
        [Channel("y", 2, 8, 2, 9)],
    )
    given = {
        "s_x": beats([([1, 2], 1), ([3, 4], 2)], 2),
        "s_row": beats([([5, 6], 2)], 2),
        "s_at": beats([([place], 0)], 1, np.uint64),
    }
    assert raises_error(design, given, limit=60) is wrong
    if wrong:
        with pytest.raises(Fault, match=f"is to replace row {place} of a tile with fewer rows"):
            predict(design, given)


@pytest.mark.parametrize("rank", [2, 3])
def test_a_tile_without_rows_has_no_row_to_replace(rank):
    design = lone(
        PlaceRow(1, 8),
        [*(Channel(n, 2, 8, rank, 9) for n in ("x", "row")), Channel("at", 1, BITS, rank - 2, 9)],
        [Channel("y", 2, 8, rank, 9)],
    )
    given = {
        "s_x": beats([("bare", 2, rank)], 2),
        "s_row": beats([([5, 6], rank)], 2),
        "s_at": beats([([0], rank - 2)], 1, np.uint64),
    }
    assert raises_error(design, given, limit=60)
    with pytest.raises(Fault, match="is to replace row 0 of a tile with fewer rows"):
        predict(design, given)


X = [([1, 2], 0), ([3, 4], 1), ([1, 2], 0), ([3, 4], 2)]
ROW = [([5, 6], 0), ([7, 8], 2)]


@pytest.mark.parametrize(
    ("x", "row", "at", "wrong"),
    [
        (X, ROW, [([1], 0)], False),
        (X, ROW[1:], [([1], 0)], True),
        (X, [([5, 6], 0), ([7, 8], 0), ([7, 8], 2)], [([1], 0)], True),
        (X[1:], ROW, [([1], 0)], True),
        (X, ROW, [("bare", 1, 1)], True),
        (X, [("bare", 3, 3)], [([0], 0)], True),
        ([("bare", 3, 3)], ROW, [("bare", 1, 1)], True),
    ],
)
def test_placed_rows_of_another_structure_are_an_error(x, row, at, wrong):
    design = lone(
        PlaceRow(2, 8),
        [Channel("x", 2, 8, 3, 9), Channel("row", 2, 8, 3, 9), Channel("at", 1, BITS, 1, 9)],
        [Channel("y", 2, 8, 3, 9)],
    )
    given = {"s_x": beats(x, 2), "s_row": beats(row, 2), "s_at": beats(at, 1, np.uint64)}
    assert raises_error(design, given, limit=60) is wrong


@pytest.mark.parametrize(
    ("x", "at", "wrong"),
    [
        (X, [([1], 0)], False),
        (X, [([1], 1)], True),
        (X[1:], [([1], 0)], True),
        (X, [("bare", 1, 1)], True),
        ([("bare", 2, 2)], [([1], 0)], False),
        ([("bare", 2, 3)], [([1], 0)], True),
    ],
)
def test_masked_tiles_of_another_structure_are_an_error(x, at, wrong):
    design = lone(
        Mask(0, 2, 8),
        [Channel("x", 2, 8, 3, 9), Channel("at", 1, BITS, 1, 9)],
        [Channel("y", 2, 8, 3, 9, 3)],
    )
    given = {"s_x": beats(x, 2), "s_at": beats(at, 1, np.uint64)}
    assert raises_error(design, given, limit=60) is wrong


TILES, NUMBERS, MADE = (2, 8, 2), (1, BITS, 0), (2, 8, 2, 6, 3)


@pytest.mark.parametrize(
    ("unit", "ports", "message"),
    [
        (PlaceRow(1, 8), [(2, 8, 1), TILES, NUMBERS, TILES], "x must have tiles"),
        (PlaceRow(0, 8), [TILES, TILES, NUMBERS, TILES], "a row must have at least 1 beat"),
        (PlaceRow(1, 8), [TILES, (2, 8, 3), NUMBERS, TILES], "row must be of rank 2"),
        (PlaceRow(1, 8), [TILES, TILES, (1, BITS, 1), TILES], "at must be of rank 0"),
        (Mask(0, 1, 8), [(2, 8, 1), NUMBERS, MADE], "x must have tiles"),
        (Mask(0, 0, 8), [TILES, NUMBERS, MADE], "a row must have at least 1 beat, not 0"),
        (Mask(0, 1, 8, rows=0), [TILES, NUMBERS, MADE], "a tile must have at least 1 row, not 0"),
        (Mask(0, 1, 8, dynamic=True), [TILES, NUMBERS, MADE], "x must be of rank 2 with 1 lane"),
        (Mask(256, 1, 8), [TILES, NUMBERS, MADE], "256 is not a pattern of 8 bits"),
        (Mask(0, 1, 8, window=2), [TILES, NUMBERS, MADE], "2 positions are not a window of a mask"),
        (Mask(0, 1, 8), [TILES, (1, BITS, 1), MADE], "at must be of rank 0"),
        (Mask(0, 1, 8), [TILES, NUMBERS, TILES], "y must be of rank 2 with 2 lanes of 8 bits 3"),
    ],
)
def test_what_can_not_be_built(unit, ports, message):
    *inputs, output = ports
    heads = [Channel(name, *p) for name, p in zip(unit.inputs, inputs, strict=True)]
    with pytest.raises(StepError, match=f"^design lone: {unit.kind} dut: {message}"):
        lone(unit, heads, [Channel("y", *output)])
