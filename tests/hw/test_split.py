"""A dim that is taken apart, and streams that are joined along one."""

from itertools import chain

import numpy as np
import pytest
from drawn import Draw, raises_error, to_beats, verify
from harness import beats, lone
from seeds import some_slow

from stepgen.hw.design.table import Channel
from stepgen.hw.units.concat.params import Concat
from stepgen.hw.units.split.params import Split
from stepgen.ir.errors import StepError
from stepgen.timing.model import predict


def leaf_of(draw, inner, slices):
    """A chunk of `inner` dims, which may be empty."""
    return lambda: draw.nested([(0, 1, 2)] * inner, lambda: draw.tile(draw.one((0, 1, 2)), slices))


def mapped(items, depth, change):
    """Lists nested `depth` deep with every leaf changed."""
    return [mapped(i, depth - 1, change) for i in items] if depth else change(items)


@pytest.mark.parametrize("seed", some_slow(range(24), 6))
def test_first_chunks_go_to_the_first_output(seed):
    draw = Draw(seed)
    inner, outer, slices = draw.one((0, 0, 1)), draw.one((0, 1, 2, 3)), draw.one((1, 2))
    sizes = draw.one(((3,), (1, 1), (4, 2, 2), (1, 3), (2, 1, 1, 1)))
    leaf = leaf_of(draw, inner, slices)
    x = draw.nested([(0, 1, 2, 3)] * outer, lambda: [leaf() for _ in range(sum(sizes))])
    level = 2 + inner
    rank = level + outer
    params = Split(sizes, level)
    forms = [draw.one(({}, {}, {"lanes": 0, "bits": 0})) for _ in sizes]  # structure alone
    ys = [draw.channel(f"y{k}", rank, **form) for k, form in enumerate(forms)]
    design = lone(params, [draw.channel("x", rank)], ys)
    ends = np.cumsum((0, *sizes))
    verify(
        design,
        {"s_x": to_beats(x, rank)},
        {
            f"d_y{k}": to_beats(mapped(x, outer, lambda g, k=k: g[ends[k] : ends[k + 1]]), rank)
            for k in range(len(sizes))
        },
        draw.stalls(design),
    )


@pytest.mark.parametrize("seed", some_slow(range(24), 6))
def test_groups_are_joined(seed):
    draw = Draw(seed)
    inner, outer, slices = draw.one((0, 0, 1)), draw.one((0, 1, 2, 3)), draw.one((1, 2))
    streams = draw.one((1, 2, 3))
    leaf = leaf_of(draw, inner, slices)

    def groups():
        """A group of each stream; that of the last one is not empty, unless it is all."""
        least = [0] * (streams - 1) + [int(outer > 0)]
        return [[leaf() for _ in range(draw.one((n, 1, 3)))] for n in least]

    drawn = draw.nested([(0, 1, 2, 3)] * outer, groups)
    rank = 2 + inner + outer
    xs = [draw.channel(f"x{k}", rank) for k in range(streams)]
    design = lone(Concat(streams, 2 + inner), xs, [draw.channel("y", rank)])
    verify(
        design,
        {
            f"s_x{k}": to_beats(mapped(drawn, outer, lambda each, k=k: each[k]), rank)
            for k in range(streams)
        },
        {"d_y": to_beats(mapped(drawn, outer, lambda each: [*chain.from_iterable(each)]), rank)},
        draw.stalls(design),
    )


ROWS = [([1, 2], 2), ([3, 4], 2), ([5, 6], 3)]


def apart(x, sizes=(2, 1)):
    """A circuit that takes groups of rows apart, and its input."""
    channels = [Channel("x", 2, 8, 3, 9)], [Channel(f"y{n}", 2, 8, 3, 9) for n in range(2)]
    return lone(Split(sizes, 2), *channels), {"s_x": beats(x, 2)}


def test_a_beat_per_cycle():
    pops = predict(*apart(ROWS * 4)).pops["x"]
    assert np.diff(pops).tolist() == [1] * 12
    design = lone(
        Concat(2, 2), [Channel(f"x{n}", 2, 8, 3, 9) for n in range(2)], [Channel("y", 2, 8, 3, 9)]
    )
    pushes = predict(design, {f"s_x{n}": beats(ROWS, 2) for n in range(2)}).pushes["y"]
    assert np.diff(pushes).tolist() == [1] * 5 + [2]


@pytest.mark.parametrize(("x", "wrong"), [(ROWS, False), (ROWS[1:], True), (ROWS[:2] + ROWS, True)])
def test_groups_of_another_size_are_an_error(x, wrong):
    """Types rule it out, so the stream is given to the circuit alone."""
    assert raises_error(*apart(x), limit=60) is wrong


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (Split((1, 0), 2), "split dut: each output needs at least 1 chunk of a group"),
        (Split((1, 1), 4), "split dut: the level 4 of a chunk must be within 0..3"),
        (Split((1, 1), 2), "split dut: y_1 must be of rank 3"),
        (Concat(0, 2), "concat dut: it needs at least 1 input, not 0"),
        (Concat(2, 4), "concat dut: the level 4 of an element must be within 0..3"),
        (Concat(2, 2), "concat dut: x_1 must be of rank 3"),
    ],
)
def test_what_can_not_be_built(params, message):
    channels = {
        name: [Channel(f"{name}{n}", 2, 8, 3 - n) for n in range(count)]
        for name, count in (("x", len(params.inputs)), ("y", len(params.outputs)))
    }
    with pytest.raises(StepError, match=f"^design lone: {message}"):
        lone(params, channels["x"], channels["y"])
