import pytest
from drawn import LANES, Draw, raises_error, to_beats, verify
from harness import lone

from stepgen.compile import facts
from stepgen.compile.design import Channel
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


def parameters(count, slices, rows, rank, buffers):
    return {
        "count": count,
        "slices": slices,
        "rows": rows,
        "level": 2 + rank,
        "buffers": buffers,
        "bits": 8,
    }


@pytest.mark.parametrize("seed", range(40))
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
    params = parameters(count, slices, most, len(inner), buffers)
    out = draw.channel("y", 2 + outer, delay=facts.delay("retile_col", params, LANES))
    rank = 2 + outer + len(inner)
    design = lone("retile_col", params, [draw.channel("x", rank)], [out])
    stalls = draw.stalls(design)
    verify(design, {"s_x": to_beats(x, rank)}, {"d_y": to_beats(y, 2 + outer)}, stalls)


def plain(chunks, buffers=2, count=3, rows=4):
    """Chunks of tiles of two slices."""
    params = parameters(count, 2, rows, 1, buffers)
    design = lone(
        "retile_col", params, [Channel("x", 2, 8, 3)], [Channel("y", 2, 8, 2, depth=5, delay=2)]
    )
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
