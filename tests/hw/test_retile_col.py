import pytest
from drawn import LANES, Draw, raises_error, to_beats, verify
from harness import lone
from seeds import some_slow

from stepgen.hw.design.table import Channel
from stepgen.hw.units.retile_col.params import RetileCol
from stepgen.ir.errors import StepError
from stepgen.timing.model import predict


def joined(tiles):
    """Tiles of equally many rows side by side."""
    return [[beat for tile in tiles for beat in tile[r]] for r in range(len(tiles[0]))]


def mapped(items, depth, change):
    """Lists nested `depth` deep with every leaf changed."""
    return [mapped(i, depth - 1, change) for i in items] if depth else change(items)


def flat(items, depth):
    """All leaves of lists nested `depth` deep."""
    return [leaf for item in items for leaf in flat(item, depth - 1)] if depth else [items]


@pytest.mark.parametrize("seed", some_slow(range(40), 4))
def test_joins(seed):
    draw = Draw(seed)
    outer, slices, buffers = draw.one((0, 0, 1, 2)), draw.one((1, 2, 3)), draw.one((1, 2))
    inner = draw.one(((1,), (2,), (4,), (2, 2), (1, 3)))
    most = draw.one((1, 2, 5, 40))
    extents = (0, 1, max(0, most - 1), most)

    def chunk():
        rows = draw.one(extents)
        return draw.nested([(n,) for n in inner], lambda: draw.tile(rows, slices))

    dims = [draw.one(((0,), (1, 3), (7,)))] + [(0, 1, 2)] * outer
    x = draw.nested(dims, chunk)
    y = mapped(x, outer + 1, lambda c: joined(flat(c, len(inner))))
    count = len(flat(draw.nested([(n,) for n in inner], int), len(inner)))
    params = RetileCol(count, slices, most, 2 + len(inner), buffers, bits=8)
    out = draw.channel("y", 2 + outer, delay=params.delay(LANES))
    rank = 2 + outer + len(inner)
    design = lone(params, [draw.channel("x", rank)], [out])
    stalls = draw.stalls(design)
    verify(design, {"s_x": to_beats(x, rank)}, {"d_y": to_beats(y, 2 + outer)}, stalls)


def plain(chunks, buffers=2, count=3, rows=4):
    """Chunks of tiles of two slices."""
    params = RetileCol(count, 2, rows, 3, buffers, bits=8)
    design = lone(params, [Channel("x", 2, 8, 3)], [Channel("y", 2, 8, 2, depth=5, delay=2)])
    return design, {"s_x": to_beats(chunks, 3)}


def test_full_speed_with_two_buffers():
    draw = Draw(1)
    design, inputs = plain([[draw.tile(4, 2) for _ in range(3)] for _ in range(6)])
    pops = predict(design, inputs).pops["x"]
    assert pops[-1] - pops[0] == 6 * 3 * 4 * 2


def test_reads_while_the_last_tile_arrives():
    draw = Draw(1)
    design, inputs = plain([[draw.tile(4, 2) for _ in range(3)]])
    predicted = predict(design, inputs)
    assert predicted.pushes["y"][0] == predicted.pops["x"][2 * 4 * 2 + 1] + 1


@pytest.mark.parametrize(
    ("rows", "wrong"),
    [
        ((3, 3, 3), False),
        ((4, 4, 4), False),
        ((0, 0, 0), False),
        ((5, 5, 5), True),
        ((3, 2, 3), True),
        ((3, 3, 4), True),
        ((0, 0, 1), True),
        ((3, 3), True),
        ((3, 3, 3, 3), True),
        ((), True),
    ],
)
def test_tiles_that_do_not_fit(rows, wrong):
    draw = Draw(1)
    design, inputs = plain([[draw.tile(r, 2) for r in rows]])
    assert raises_error(design, inputs, limit=60) == wrong


@pytest.mark.parametrize(
    ("changed", "x", "y", "message"),
    [
        ({"level": 4}, (2, 8, 3), (2, 8, 2), "the level 4 of a chunk must be within 2..3"),
        ({"level": 1}, (2, 8, 3), (2, 8, 2), "the level 1 of a chunk must be within 2..3"),
        ({"count": 0}, (2, 8, 3), (2, 8, 2), "tiles, slices and rows must be at least 1, not 0, 2"),
        ({"buffers": 3}, (2, 8, 3), (2, 8, 2), "there must be 1 or 2 buffers, not 3"),
        ({"bits": 16}, (2, 8, 3), (2, 8, 2), "x must be of rank 3 with 2 lanes of 16 bits, not"),
        ({}, (4, 8, 3), (2, 8, 2), "x must be of rank 3 with 2 lanes of 8 bits, not"),
        ({}, (2, 8, 3), (2, 16, 2), "y must be of rank 2 with 2 lanes of 8 bits 2 cycles late"),
        ({}, (2, 8, 3), (2, 8, 3), "y must be of rank 2 with 2 lanes of 8 bits 2 cycles late"),
    ],
)
def test_what_can_not_be_built(changed, x, y, message):
    params = {"count": 2, "slices": 2, "rows": 4, "level": 3, "buffers": 2, "bits": 8, **changed}
    with pytest.raises(StepError, match=f"^design lone: retile_col dut: {message}"):
        lone(RetileCol(**params), [Channel("x", *x)], [Channel("y", *y, delay=2)])


def test_an_output_without_the_delay_of_the_memory():
    params = RetileCol(count=2, slices=2, rows=4, level=3, buffers=2, bits=8)
    with pytest.raises(StepError, match=r"y must be .* 8 bits 2 cycles late, not .* 8 bits$"):
        lone(params, [Channel("x", 2, 8, 3)], [Channel("y", 2, 8, 2)])
