"""StoreForward alone: circuit and cycle model on drawn chunks."""

import numpy as np
import pytest
from drawn import LANES, Draw, raises_error, to_beats, verify
from harness import lone
from seeds import some_slow

from stepgen.hw.design.table import Channel
from stepgen.hw.units.store_forward.params import StoreForward
from stepgen.ir.errors import StepError
from stepgen.ir.stalls import Stalls
from stepgen.ir.wire import Beats
from stepgen.timing.model import predict


@pytest.mark.parametrize("seed", some_slow(range(40), 8))
def test_chunks(seed):
    draw = Draw(seed)
    outer, rank, tiled = draw.one((0, 1, 1)), draw.one((0, 1, 2)), draw.one((True, True, False))
    dims = [(0, 1, 2, 9)] * (outer + 1) + [(0, 1, 2, 3)] * rank
    rows = draw.one(((1,), (0, 1, 2, 3)))

    def element():
        return draw.tile(draw.one(rows), 2) if tiled else draw.flags(LANES, 0.5)

    level = 2 * tiled + rank
    items = to_beats(draw.nested(dims, element), level + outer, np.int8 if tiled else bool)
    bits = 8 if tiled else 1
    design = lone(
        StoreForward(level, 3**rank * (6 if tiled else 1)),
        [draw.channel("x", level + outer, bits=bits)],
        [draw.channel("y", level + outer, bits=bits)],
    )
    verify(design, {"s_x": items}, {"d_y": items}, draw.stalls(design))


def chunks(sizes):
    """Tiles of so many rows of a beat, the circuit for them, and their beats."""
    draw = Draw(1)
    design = lone(
        StoreForward(2, max(sizes)),
        [Channel("x", LANES, 8, 2, depth=2)],
        [Channel("y", LANES, 8, 2, depth=len(sizes) * max(sizes))],
    )
    return design, to_beats([draw.tile(size, 1) for size in sizes], 2)


@pytest.mark.parametrize("size", [1, 2, 3, 62, 63, 80])
def test_no_gap(size):
    design, beats = chunks([size] * 5)
    predicted = predict(design, {"s_x": beats})
    pushes = predicted.pushes["y"][:-1]
    assert pushes[-1] - pushes[0] == 5 * size - 1
    assert pushes[0] > predicted.pops["x"][size - 1]


def test_nothing_of_a_chunk_leaves_before_its_end():
    design, beats = chunks([9, 1, 4, 9])
    predicted = predict(design, {"s_x": beats}, stalls=Stalls(3, {"s_x": 0.8}))
    first = 0
    for size in (9, 1, 4, 9):
        assert predicted.pushes["y"][first] > predicted.pops["x"][first + size - 1]
        first += size


def test_a_chunk_that_is_too_large():
    design, _ = chunks([4])
    assert raises_error(design, {"s_x": to_beats([Draw(2).tile(9, 1)], 2)}, limit=80)
    assert not raises_error(design, {"s_x": to_beats([Draw(2).tile(4, 1)], 2)}, limit=80)


@pytest.mark.parametrize(("beats", "wrong"), [(6, False), (7, True)])
def test_a_chunk_that_fills_the_memory_may_still_end(beats, wrong):
    """There is room for it and for what is behind its end: six beats."""
    design, _ = chunks([4])
    chunk = to_beats([Draw(2).tile(9, 1)], 2)
    begun = Beats(*(getattr(chunk, part)[:beats] for part in ("kind", "stop", "low", "data")))
    assert raises_error(design, {"s_x": begun}, limit=80) == wrong


@pytest.mark.parametrize(
    ("params", "y", "message"),
    [
        ((3, 1), 2, "the level 3 of a chunk must be within 0..2"),
        ((2, 0), 2, "a chunk must have at least 1 beat, not 0"),
        ((2, 1), 1, "y must be of rank 2 .*, not of rank 1"),
    ],
)
def test_what_can_not_be_built(params, y, message):
    with pytest.raises(StepError, match=f"^design lone: store_forward dut: {message}"):
        lone(StoreForward(*params), [Channel("x", 2, 8, 2)], [Channel("y", 2, 8, y)])
