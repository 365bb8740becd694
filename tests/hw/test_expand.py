import numpy as np
import pytest
from drawn import LANES, Draw, raises_error, to_beats, verify
from harness import lone
from seeds import some_slow

from stepgen.hw.design.table import Channel
from stepgen.hw.units.expand.params import ENDS, Expand
from stepgen.ir.errors import StepError
from stepgen.ir.stalls import Stalls
from stepgen.timing.deadlock import Deadlock
from stepgen.timing.model import predict


def mapped(items, depth, change):
    """Lists nested `depth` deep with every leaf changed."""
    return [mapped(i, depth - 1, change) for i in items] if depth else change(items)


def beats_of(items, depth):
    """Beats of every tile in lists nested `depth` deep; a tile without rows takes one."""
    if depth == 0:
        return [max(1, sum(map(len, items)))]
    return [n for item in items for n in beats_of(item, depth - 1)]


def parameters(draw, count, level, needed, ref_base=0, base=2):
    capacity = max(2, draw.one((needed, needed + 1, 2 * needed, 3 * needed + 40)))
    return Expand(count, base, level, ref_base, capacity)


def output(draw, rank, params):
    return draw.channel("y", rank, delay=params.delay(LANES))


@pytest.mark.parametrize("seed", some_slow(range(24), 4))
def test_count(seed):
    draw = Draw(seed)
    outer, count, slices = draw.one((0, 1, 2)), draw.one((1, 2, 3, 5)), draw.one((1, 2, 3))
    dims = [(0, 1, 5, 12)] + [(0, 1, 2, 3)] * outer
    rows = draw.one(((0, 1), (0, 1, 2, 3, 4), (4,), (17,)))
    x = draw.nested(dims, lambda: draw.tile(draw.one(rows), slices))
    params = parameters(draw, count, 3, max(beats_of(x, outer + 1), default=1))
    rank = 3 + outer
    design = lone(params, [draw.channel("x", rank)], [output(draw, rank, params)])
    verify(
        design,
        {"s_x": to_beats(mapped(x, outer + 1, lambda tile: [tile]), rank)},
        {"d_y": to_beats(mapped(x, outer + 1, lambda tile: [tile] * count), rank)},
        draw.stalls(design),
    )


@pytest.mark.parametrize("seed", some_slow(range(100, 140), 10))
def test_reference(seed):
    draw = Draw(seed)
    outer, rank, base = draw.one((0, 0, 1)), draw.one((0, 1, 1, 2)), draw.one((0, 2))
    slices = draw.one((1, 2))
    dims = [draw.one(((0,), (1, 3), (6,)))] + [(0, 1, 2)] * outer
    rows = draw.one(((0, 1), (0, 1, 2, 3), (9,)))
    x = draw.nested(dims, lambda: draw.tile(draw.one(rows), slices))

    def element():
        return draw.tile(draw.one((0, 1, 2)), 1) if base else draw.flags(3, 0.5)

    def in_ones(tile):
        for _ in range(rank):
            tile = [tile]
        return tile

    inner = [(0, 1, 2, 3)] * rank
    ref = mapped(x, outer + 1, lambda tile: draw.nested(inner, element))
    y = [
        pair
        for pair in zip_nested(x, ref, outer + 1, lambda tile, r: mapped(r, rank, lambda _: tile))
    ]
    levels = outer + rank
    params = parameters(draw, None, 2 + rank, max(beats_of(x, outer + 1), default=1), base)
    reference = draw.channel(
        "ref", levels + base, lanes=LANES if base else 3, bits=8 if base else 1
    )
    design = lone(
        params,
        [draw.channel("x", 2 + levels), reference],
        [output(draw, 2 + levels, params)],
    )
    verify(
        design,
        {
            "s_x": to_beats(mapped(x, outer + 1, in_ones), 2 + levels),
            "s_ref": to_beats(ref, levels + base, "int8" if base else bool),
        },
        {"d_y": to_beats(y, 2 + levels)},
        draw.stalls(design),
    )


@pytest.mark.parametrize("seed", some_slow(range(200, 230), 8))
def test_elements_of_one_beat(seed):
    """Selectors, repeated a number of times or for each element of a reference."""
    draw = Draw(seed)
    outer, lanes = draw.one((0, 1)), draw.one((1, 2, 5))
    by_reference = draw.one((False, True))
    rank, below = (draw.one((0, 1, 2)), draw.one((0, 2))) if by_reference else (1, 0)
    count = None if by_reference else draw.one((1, 2, 3))
    dims = [draw.one(((0,), (1, 3), (6, 20)))] + [(0, 1, 2)] * outer
    x = draw.nested(dims, lambda: draw.flags(lanes, 0.5))
    levels = outer + rank
    ones = x
    for depth in range(outer + 1, levels + 1):
        ones = mapped(ones, depth, lambda flags: [flags])
    params = parameters(draw, count, rank, 1, below, base=0)
    kinds = {"lanes": lanes, "bits": 1}
    channels = [draw.channel("x", levels, **kinds)]
    inputs = {"s_x": to_beats(ones, levels, bool)}
    if by_reference:
        inner = [(0, 1, 2, 3)] * rank
        wide = {"lanes": LANES if below else 3, "bits": 8 if below else 1}

        def element():
            return draw.tile(draw.one((0, 1, 2)), 1) if below else draw.flags(3, 0.5)

        ref = mapped(x, outer + 1, lambda _: draw.nested(inner, element))
        y = zip_nested(x, ref, outer + 1, lambda f, r: mapped(r, rank, lambda _: f))
        channels.append(draw.channel("ref", levels + below, **wide))
        inputs["s_ref"] = to_beats(ref, levels + below, "int8" if below else bool)
    else:
        y = mapped(x, outer + 1, lambda flags: [flags] * count)
    design = lone(params, channels, [draw.channel("y", levels, delay=params.delay(0), **kinds)])
    verify(design, inputs, {"d_y": to_beats(y, levels, bool)}, draw.stalls(design))


def zip_nested(a, b, depth, join):
    """Lists nested `depth` deep, joined leaf by leaf."""
    if depth == 0:
        return join(a, b)
    return [zip_nested(i, j, depth - 1, join) for i, j in zip(a, b, strict=True)]


def lone_count(x, capacity, count=3):
    params = Expand(count, 2, 3, 0, capacity)
    design = lone(params, [Channel("x", 2, 8, 3)], [Channel("y", 2, 8, 3, depth=5, delay=2)])
    return design, {"s_x": to_beats([[tile] for tile in x], 3)}


def test_cuts_through_without_a_gap():
    draw = Draw(2)
    design, inputs = lone_count([draw.tile(4, 2) for _ in range(5)], 16)
    predicted = predict(design, inputs)
    pushes = predicted.pushes["y"]
    assert pushes[0] == predicted.pops["x"][0] + 1
    assert pushes[-1] - pushes[0] == 5 * 8 * 3


@pytest.mark.parametrize(("capacity", "wrong"), [(8, False), (7, True)])
def test_tile_that_exceeds_the_memory(capacity, wrong):
    draw = Draw(3)
    design, inputs = lone_count([draw.tile(4, 2), draw.tile(1, 1)], capacity)
    assert raises_error(design, inputs, limit=60) == wrong
    if wrong:
        with pytest.raises(Deadlock, match=r"dut\.ring \(full, 7 of 7\)"):
            predict(design, inputs)


def test_single_pass_needs_no_memory_for_the_tile():
    draw = Draw(4)
    tiles = [draw.tile(30, 2), draw.tile(0, 2), draw.tile(7, 2)]
    design, inputs = lone_count(tiles, 2, count=1)
    verify(design, inputs, {"d_y": inputs["s_x"]}, Stalls(1, {"d_y": 0.4}))


@pytest.mark.parametrize(
    ("ref", "wrong"),
    [
        ([[1], [1, 1]], False),
        ([[1]], True),
        ([[1], [1], [1]], True),
        ([[1], []], False),
    ],
)
def test_reference_of_another_structure(ref, wrong):
    draw = Draw(5)
    design = lone(
        Expand(None, 2, 3, 0, capacity=8),
        [Channel("x", 2, 8, 3), Channel("ref", 1, 1, 1)],
        [Channel("y", 2, 8, 3, depth=5, delay=2)],
    )
    flags = mapped(ref, 2, lambda _: draw.flags(1, 0.5))
    inputs = {
        "s_x": to_beats([[draw.tile(2, 2)], [draw.tile(1, 2)]], 3),
        "s_ref": to_beats(flags, 1, bool),
    }
    assert raises_error(design, inputs, limit=60) == wrong


def test_dropped_tile_needs_no_space():
    """An empty group of the reference discards its tile while the output is full."""
    draw = Draw(6)
    design = lone(
        Expand(None, 2, 3, 0, capacity=40),
        [Channel("x", 2, 8, 3, depth=40), Channel("ref", 1, 1, 1, depth=9)],
        [Channel("y", 2, 8, 3, delay=2)],
    )
    tiles = [draw.tile(2, 2), draw.tile(6, 2), draw.tile(6, 2), draw.tile(1, 1)]
    ref = [[draw.flags(1, 0.5) for _ in range(n)] for n in (2, 0, 0, 1)]
    inputs = {"s_x": to_beats([[t] for t in tiles], 3), "s_ref": to_beats(ref, 1, bool)}
    y = zip_nested(tiles, ref, 1, lambda tile, group: [tile] * len(group))
    for seed in range(4):
        verify(design, inputs, {"d_y": to_beats(y, 3)}, Stalls(seed, {"d_y": 0.9}))


def test_many_small_tiles_wait_in_a_large_memory():
    draw = Draw(7)
    tiles = [draw.tile(draw.one((0, 1)), 1) for _ in range(60)]
    design, inputs = lone_count(tiles, 64)
    y = to_beats([[tile] * 3 for tile in tiles], 3)
    predicted = verify(design, inputs, {"d_y": y}, Stalls(1, {"d_y": 0.5}))
    assert np.diff(predicted.pops["x"][:ENDS]).max() == 1
    assert predicted.pops["x"][ENDS + 8] > ENDS + 9


@pytest.mark.parametrize(
    ("changed", "x", "y", "message"),
    [
        ({"level": 2}, (2, 8, 3), (2, 8, 3), "the level 2 of an element must be within 3..3"),
        ({"level": 4}, (2, 8, 3), (2, 8, 3), "the level 4 of an element must be within 3..3"),
        ({"count": 0}, (2, 8, 3), (2, 8, 3), "an element must be sent at least once, not 0 times"),
        ({"capacity": 1}, (2, 8, 3), (2, 8, 3), "the memory must hold at least 2 beats, not 1"),
        ({"ref_base": 1}, (2, 8, 3), (2, 8, 3), "the level of an element of ref must be 0 or 2"),
        ({"ref_base": 2}, (2, 8, 3), (2, 8, 3), "without ref no element of it has the level 2"),
        ({"base": 1}, (2, 8, 3), (2, 8, 3), "the level of an element of x must be 0 or 2, not 1"),
        ({"base": 0, "level": 0}, (2, 8, 3), (2, 8, 3), "the level 0 .* must be within 1..3"),
        ({}, (4, 8, 3), (2, 8, 3), "y must be of rank 3 with 4 lanes of 8 bits"),
        ({}, (2, 16, 3), (2, 8, 3), "y must be of rank 3 with 2 lanes of 16 bits"),
        ({}, (2, 8, 3), (2, 8, 4), "y must be of rank 3 "),
    ],
)
def test_what_can_not_be_built(changed, x, y, message):
    params = {"count": 2, "base": 2, "level": 3, "ref_base": 0, "capacity": 8, **changed}
    with pytest.raises(StepError, match=f"^design lone: expand dut: {message}"):
        lone(Expand(**params), [Channel("x", *x)], [Channel("y", *y, delay=2)])


@pytest.mark.parametrize(("base", "rank"), [(0, 2), (2, 1), (2, 4)])
def test_reference_of_another_rank(base, rank):
    params = Expand(None, 2, 3, base, capacity=8)
    xs = [Channel("x", 2, 8, 3), Channel("ref", 0, 0, rank)]
    with pytest.raises(StepError, match=f"ref must be of rank {1 + base} "):
        lone(params, xs, [Channel("y", 2, 8, 3, delay=2)])


def test_output_without_its_pipeline():
    params = Expand(2, 2, 3, 0, capacity=8)
    with pytest.raises(StepError, match=r"^design lone: expand dut: y must be .* 2 cycles late"):
        lone(params, [Channel("x", 2, 8, 3)], [Channel("y", 2, 8, 3)])
