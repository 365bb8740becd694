"""EagerMerge alone: circuit and cycle model on drawn chunks, and how it chooses."""

from collections import Counter

import numpy as np
import pytest
from amaranth.back import rtlil
from drawn import LANES, Draw, to_beats, verify
from harness import lone
from seeds import some_slow
from work import worked

from stepgen.hw.accelerator import Accelerator
from stepgen.hw.design.table import Channel
from stepgen.hw.units.eager_merge.params import EagerMerge
from stepgen.ir.errors import StepError
from stepgen.ir.stalls import Stalls
from stepgen.timing.model import predict


def merged(chunks, level, choices, dtype=np.int8):
    """Beats of chunks in the order of choices, and of the selectors."""
    left = [list(c) for c in chunks]
    data = [left[k].pop(0) for k in choices]
    assert not any(left)
    names = [np.arange(len(chunks)) == k for k in choices]
    return {"d_y": to_beats(data, level, dtype), "d_names": to_beats(names, 0, bool)}


@pytest.mark.parametrize("seed", some_slow(range(60), 6))
def test_chunks(seed):
    draw = Draw(seed)
    n, rank, tiled = draw.one((1, 2, 3, 5)), draw.one((0, 0, 1, 2)), draw.one((True, True, False))
    rows, slices = draw.one(((1,), (0, 1, 3))), draw.one((1, 2))
    counts = draw.one(((0,), (1,), (0, 1, 2, 7), (0, 12)))

    def chunk():
        def element():
            return draw.tile(draw.one(rows), slices) if tiled else draw.flags(LANES, 0.5)

        return draw.nested([(0, 1, 2, 3)] * rank, element)

    level, dtype, bits = 2 * tiled + rank, np.int8 if tiled else bool, 8 if tiled else 1
    chunks = [[chunk() for _ in range(draw.one(counts))] for _ in range(n)]
    design = lone(
        EagerMerge(n, level),
        [draw.channel(f"x{k}", level, bits=bits) for k in range(n)],
        [draw.channel("y", level, bits=bits), draw.channel("names", 0, lanes=n, bits=1)],
    )
    inputs = {f"s_x{k}": to_beats(c, level, dtype) for k, c in enumerate(chunks)}
    stalls = draw.stalls(design)
    choices = predict(design, inputs, stalls=stalls).choices.get("dut", [])
    verify(design, inputs, merged(chunks, level, choices, dtype), stalls)


def uniform(n, tiles, rows=3, **depths):
    """Every input has as many tiles of so many rows of a beat, and depths for all of them."""
    draw = Draw(0)
    deep = tiles * rows + 1
    chunks = [[draw.tile(rows, 1) for _ in range(tiles)] for _ in range(n)]
    design = lone(
        EagerMerge(n, 2),
        [Channel(f"x{k}", LANES, 8, 2, depth=deep) for k in range(n)],
        [
            Channel("y", LANES, 8, 2, depth=depths.get("y", n * deep)),
            Channel("names", n, 1, 0, depth=depths.get("names", n * tiles + 1)),
        ],
    )
    return design, {f"s_x{k}": to_beats(c, 2) for k, c in enumerate(chunks)}


@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_no_gap(n, rows):
    design, inputs = uniform(n, 6, rows, y=2, names=2)
    pushes = predict(design, inputs).pushes["y"][:-1]
    assert len(pushes) == n * 6 * rows
    assert pushes[-1] - pushes[0] == len(pushes) - 1


def test_only_a_chunk_of_another_input_waits_to_be_chosen():
    """The unit stays at the input that it took last, and begins at the first one."""
    design, inputs = uniform(3, 2)
    late = {f"s_x{k}": 40 * k for k in range(3)}
    predicted = predict(design, inputs, stalls=Stalls(late=late))
    heads = np.concatenate([predicted.pushes[f"x{k}"][:6] for k in range(3)]) + 1
    waits = predicted.pushes["y"][:-1] - heads
    assert [*waits] == [0] * 6 + [1] * 12


@pytest.mark.parametrize("rows", [1, 3])
def test_inputs_that_wait_take_turns(rows):
    design, inputs = uniform(4, 6, rows, y=2)
    choices = predict(design, inputs, stalls=Stalls(2, {"d_y": 0.5})).choices["dut"]
    for k in range(0, 20, 4):
        assert sorted(choices[k : k + 4]) == [0, 1, 2, 3]


def test_first_come_first_served():
    design, inputs = uniform(4, 1)
    stalls = Stalls(5, {f"s_x{k}": 0.85 for k in range(4)})
    predicted = predict(design, inputs, stalls=stalls)
    first = [predicted.pushes[f"x{k}"][0] for k in range(4)]
    choices = predicted.choices["dut"]
    assert choices != sorted(choices)
    assert choices[0] == int(np.argmin(first))


def test_a_selector_leaves_before_its_chunk():
    """That of the next chunk is there while one still moves, or waits for room."""
    design, inputs = uniform(2, 4, 9, y=2)
    predicted = predict(design, inputs, stalls=Stalls(1, {"d_y": 0.7}))
    first = predicted.pushes["y"][::9][: len(predicted.pushes["names"]) - 1]
    ahead = first - predicted.pushes["names"][:-1]
    assert (ahead[1:] > 5).all()


def test_a_selector_that_nobody_takes_holds_up_the_next_chunks():
    design, inputs = uniform(2, 4, names=2)
    stalls = Stalls(1, {"d_names": 0.95})
    predicted = predict(design, inputs, stalls=stalls)
    taken, named = predicted.pops["names"], predicted.pushes["names"]
    assert all(named[k + 2] > taken[k] for k in range(len(taken) - 2))
    assert Counter(predicted.choices["dut"]) == {0: 4, 1: 4}


@pytest.mark.slow
def test_many_inputs_elaborate_with_little_work():
    few, many = (uniform(n, 2, y=2, names=2)[0] for n in (8, 32))
    _, few_calls = worked(lambda: rtlil.convert(Accelerator(few)))
    _, many_calls = worked(lambda: rtlil.convert(Accelerator(many)))
    assert many_calls < 5 * few_calls
    design, inputs = uniform(128, 2)
    assert sorted(predict(design, inputs).choices["dut"]) == sorted([*range(128)] * 2)


@pytest.mark.parametrize(
    ("x", "y", "names", "message"),
    [
        ((2, 8, 3), (2, 8, 2), (2, 1, 0), "x_0 must be of rank 2 .*, not of rank 3"),
        ((2, 16, 2), (2, 8, 2), (2, 1, 0), "x_1 must be of rank 2 with 2 lanes of 16 bits, not"),
        ((2, 8, 2), (2, 8, 3), (2, 1, 0), "y must be of rank 2 .*, not of rank 3"),
        ((2, 8, 2), (2, 8, 2), (3, 1, 0), "names must be of rank 0 with 2 lanes of 1 bit, not"),
    ],
)
def test_what_can_not_be_built(x, y, names, message):
    xs = [Channel("x0", *x), Channel("x1", 2, 8, 2)]
    with pytest.raises(StepError, match=f"^design lone: eager_merge dut: {message}"):
        lone(EagerMerge(2, 2), xs, [Channel("y", *y), Channel("names", *names)])


def test_parameters_without_sense():
    made = [Channel("y", 2, 8, 2), Channel("names", 1, 1, 0)]
    with pytest.raises(StepError, match="it needs at least 1 producer, not 0"):
        lone(EagerMerge(0, 2), [], made)
    with pytest.raises(StepError, match="the level of a chunk must be at least 0, not -1"):
        lone(EagerMerge(1, -1), [Channel("x", 2, 8, 2)], made)
