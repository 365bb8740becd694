"""Addresses and flags become tiles of numbers, in model and circuit."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import LANES, Draw, raises_error, to_beats, verify
from harness import beats, lone
from hw.test_rows import ELEMENTS, at_of, channel, mapped
from hw.test_rows import beats as beats_of_rows
from seeds import one_seed_each, some_slow

import stepgen as sg
from stepgen.hw.design.table import Channel
from stepgen.hw.units.as_scalar.params import AsScalar
from stepgen.hw.units.as_tile.params import AsTile
from stepgen.ir.errors import StepError
from stepgen.semantics import numbers
from stepgen.timing.model import Fault, predict


@pytest.mark.parametrize(
    ("seed", "operand", "name"), one_seed_each(range(8), ("address", "bool"), ELEMENTS)
)
def test_numbers_are_converted(seed, operand, name):
    draw = Draw([seed, operand == "bool"])
    columns = draw.one((1, 2, 3, 5))
    bits = draw.one((2, 5, 9, 32)) if operand == "address" else 1
    rank = draw.one((0, 1))
    tile = sg.Tile(1, columns, ELEMENTS[name])
    unit = AsTile(operand, name, columns)

    def drawn():
        if operand == "bool":
            return draw.flags(columns, 0.5)
        return draw.rng.integers(0, (1 << draw.one((2, bits))) - 1, columns).astype(np.uint64)

    nested = draw.nested([(0, 1, 2, 5)] * (rank + 1), drawn)
    due = mapped(nested, rank + 1, lambda n: beats_of_rows(draw, numbers.convert(n[None], name)))
    design = lone(
        unit,
        [draw.channel("x", rank, lanes=columns, bits=bits)],
        [channel(draw, "y", rank + 2, tile, unit.delay(LANES))],
    )
    dtype = bool if operand == "bool" else np.uint64
    verify(
        design,
        {"s_x": to_beats(nested, rank, dtype)},
        {"d_y": to_beats(due, rank + 2, at_of(tile))},
        draw.stalls(design),
    )


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("seed", some_slow(range(6), 2))
def test_flags_become_tiles_of_flags_and_back(seed, back):
    draw, rank = Draw([seed, back]), 1 - seed % 2
    flags = draw.nested([(0, 1, 2, 5)] * (rank + 1), lambda: draw.flags(1, 0.5))
    rows = mapped(flags, rank + 1, lambda flag: beats_of_rows(draw, flag[None]))
    depths = draw.channel("x", rank).depth, draw.channel("y", rank).depth
    flat = Channel("y" if back else "x", 1, 1, rank, depths[back], 0, "bool")
    tiled = Channel("x" if back else "y", LANES, 1, rank + 2, depths[not back], 0, "bool", 1)
    single, tiles = to_beats(flags, rank, bool), to_beats(rows, rank + 2, bool)
    if back:
        design, given, due = lone(AsScalar(), [tiled], [flat]), tiles, single
    else:
        design, given, due = lone(AsTile("bool", "bool", 1), [flat], [tiled]), single, tiles
    verify(design, {"s_x": given}, {"d_y": due}, draw.stalls(design))


@pytest.mark.parametrize(
    ("x", "wrong"),
    [
        ([([1, 0], 2), ([0, 0], 2)], False),
        ([([1, 0], 1), ([0, 0], 2)], True),
        ([([1, 0], 0), ([0, 0], 2)], True),
        ([("bare", 2, 2)], True),
    ],
)
def test_larger_tiles_are_no_flags(x, wrong):
    """Types rule it out, so the stream is given to the circuit alone."""
    design = lone(AsScalar(), [Channel("x", 2, 1, 2)], [Channel("y", 1, 1, 0)])
    assert raises_error(design, {"s_x": beats(x, 2, bool)}, limit=40) is wrong


@pytest.mark.parametrize(("number", "wrong"), [(14, False), (15, True)])
def test_an_address_that_is_too_large_stops_the_unit(number, wrong):
    unit = AsTile("address", "int32", 2)
    design = lone(unit, [Channel("x", 2, 4, 0)], [Channel("y", 2, 32, 2, 9, 1)])
    stream = {"s_x": beats([([3, 4], 0), ([2, number], 0)], 2, np.uint64)}
    assert raises_error(design, stream) is wrong
    if wrong:
        with pytest.raises(Fault, match="gets the number 15, and takes numbers below 15"):
            predict(design, stream)


@pytest.mark.parametrize(
    ("unit", "x", "y", "message"),
    [
        (AsTile("int8", "f32", 1), (1, 4, 0), (2, 32, 2, 9, 5), "it takes addresses or flags"),
        (AsTile("address", "bool", 1), (1, 4, 0), (2, 1, 2), "bool is not a type of numbers"),
        (AsTile("address", "f32", 0), (1, 4, 0), (2, 32, 2, 9, 5), "a row needs at least 1 column"),
        (AsTile("address", "f32", 1), (2, 4, 0), (2, 32, 2, 9, 5), "x must be of rank 0 with 1 l"),
        (AsTile("bool", "f32", 1), (1, 4, 0), (2, 32, 2), "x must be of rank 0 with 1 lane of 1 b"),
        (AsTile("address", "f32", 1), (1, 4, 0), (2, 32, 2), "y must be of rank 2 with 2 lanes of"),
    ],
)
def test_what_can_not_be_built(unit, x, y, message):
    with pytest.raises(StepError, match=f"^design lone: as_tile dut: {message}"):
        lone(unit, [Channel("x", *x)], [Channel("y", *y)])
