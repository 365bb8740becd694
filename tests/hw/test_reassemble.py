import numpy as np
import pytest
from amaranth.back import rtlil
from drawn import Draw, raises_error, to_beats, verify
from harness import lone
from seeds import some_slow
from work import worked

from stepgen.hw.accelerator import Accelerator
from stepgen.hw.design.table import Channel
from stepgen.hw.units.reassemble.params import Reassemble
from stepgen.ir.errors import StepError
from stepgen.ir.stalls import Stalls
from stepgen.timing.model import predict


def drawn_case(draw, n, outer, rank, share, order):
    """A selector stream and chunks for it, the design, and how merged chunks would look."""
    slices = draw.one((1, 2))

    def chunk():
        return draw.nested([(0, 1, 2, 3)] * rank, lambda: draw.tile(draw.one((0, 1, 3)), slices))

    dims = [draw.one(((0,), (1, 4), (12,)))] + [(0, 1, 2, 3)] * outer
    sel = draw.nested(dims, lambda: draw.flags(n, share))
    chunks = [[] for _ in range(n)]

    def fill(items, depth):
        if depth:
            for item in items:
                fill(item, depth - 1)
        else:
            for k in np.flatnonzero(items):
                chunks[k].append(chunk())

    fill(sel, outer + 1)
    level = 2 + rank
    design = lone(
        Reassemble(n, level, order),
        [draw.channel(f"x{k}", level) for k in range(n)]
        + [draw.channel("sel", outer, lanes=n, bits=1)],
        [draw.channel("y", level + outer + 1)],
    )
    inputs = {f"s_x{k}": to_beats(c, level) for k, c in enumerate(chunks)}
    inputs["s_sel"] = to_beats(sel, outer, bool)

    def merged(choices):
        left = [list(c) for c in chunks]
        order = iter(choices)

        def walk(items, depth):
            if depth:
                return [walk(item, depth - 1) for item in items]
            taken = [next(order) for _ in range(int(items.sum()))]
            assert sorted(taken) == np.flatnonzero(items).tolist()
            return [left[k].pop(0) for k in taken]

        return to_beats(walk(sel, outer + 1), level + outer + 1)

    ascending = []
    fill_order(sel, outer + 1, ascending)
    return design, inputs, merged, ascending


def fill_order(items, depth, order):
    """The selected inputs of all selectors, ascending within each."""
    if depth:
        for item in items:
            fill_order(item, depth - 1, order)
    else:
        order.extend(np.flatnonzero(items).tolist())


def drawn_parameters(seed):
    draw = Draw(seed)
    n, outer, rank = draw.one((1, 2, 3, 5)), draw.one((0, 0, 1, 2)), draw.one((0, 1, 1, 2))
    return draw, n, outer, rank, draw.one((0.1, 0.4, 0.7, 1.0))


@pytest.mark.parametrize("seed", some_slow(range(20), 4))
def test_index(seed):
    draw, *case = drawn_parameters(seed)
    design, inputs, merged, ascending = drawn_case(draw, *case, "index")
    verify(design, inputs, {"d_y": merged(ascending)}, draw.stalls(design))


@pytest.mark.parametrize("seed", some_slow(range(100, 124), 8))
def test_arrival(seed):
    draw, *case = drawn_parameters(seed)
    design, inputs, merged, _ = drawn_case(draw, *case, "arrival")
    stalls = draw.stalls(design)
    choices = predict(design, {**inputs}, stalls=stalls).choices.get("dut", [])
    verify(design, inputs, {"d_y": merged(choices)}, stalls)


def uniform_case(n, tiles, order):
    """Every selector names all inputs; each chunk is a tile of three beats."""
    draw = Draw(0)
    depth = 3 * tiles + 1
    chunks = [[draw.tile(3, 1) for _ in range(tiles)] for _ in range(n)]
    design = lone(
        Reassemble(n, 2, order),
        [Channel(f"x{k}", 2, 8, 2, depth=depth) for k in range(n)]
        + [Channel("sel", n, 1, 0, depth=tiles + 1)],
        [Channel("y", 2, 8, 3)],
    )
    inputs = {f"s_x{k}": to_beats(c, 2) for k, c in enumerate(chunks)}
    inputs["s_sel"] = to_beats([np.ones(n, bool)] * tiles, 0, bool)
    return design, inputs


@pytest.mark.parametrize("order", ["index", "arrival"])
def test_no_gap(order):
    design, inputs = uniform_case(4, 6, order)
    pushes = predict(design, inputs).pushes["y"][:-1]
    assert len(pushes) == 4 * 6 * 3
    assert pushes[-1] - pushes[0] == len(pushes) - 1


def test_first_come_first_served():
    design, inputs = uniform_case(4, 1, "arrival")
    stalls = Stalls(5, {f"s_x{k}": 0.85 for k in range(4)})
    predicted = predict(design, inputs, stalls=stalls)
    first = [predicted.pushes[f"x{k}"][0] for k in range(4)]
    choices = predicted.choices["dut"]
    assert choices != sorted(choices)
    assert choices[0] == int(np.argmin(first))
    chunks = {k: inputs[f"s_x{k}"].data[:3] for k in range(4)}
    tiles = [[[row] for row in chunks[k]] for k in choices]
    verify(design, inputs, {"d_y": to_beats([tiles], 3)}, stalls)


@pytest.mark.slow
def test_many_inputs_elaborate_with_little_work():
    few, many = (uniform_case(n, 2, "arrival")[0] for n in (8, 32))
    _, few_calls = worked(lambda: rtlil.convert(Accelerator(few)))
    _, many_calls = worked(lambda: rtlil.convert(Accelerator(many)))
    assert many_calls < 5 * few_calls
    design, inputs = uniform_case(128, 2, "arrival")
    assert sorted(predict(design, inputs).choices["dut"]) == sorted([*range(128)] * 2)


@pytest.mark.parametrize(
    ("counts", "wrong"), [((2, 2), False), ((1, 2), True), ((2, 1), True), ((3, 2), True)]
)
def test_inputs_that_do_not_fit_the_selector(counts, wrong):
    design, inputs = uniform_case(2, 2, "index")
    draw = Draw(1)
    for k, count in enumerate(counts):
        inputs[f"s_x{k}"] = to_beats([draw.tile(2, 1) for _ in range(count)], 2)
    assert raises_error(design, inputs, limit=80) == wrong


@pytest.mark.parametrize(
    ("x", "sel", "y", "message"),
    [
        ((2, 8, 3), (2, 1, 0), (2, 8, 3), "x_0 must be of rank 2 .*, not of rank 3"),
        ((2, 8, None), (2, 1, 0), (2, 8, 3), "x_0 must be of rank 2 .*, not raw"),
        ((2, 8, 2), (1, 1, 0), (2, 8, 3), "sel must be of rank 0 with 2 lanes of 1 bit, not"),
        ((2, 8, 2), (2, 1, None), (2, 8, 3), "sel must have stops, a raw channel has none"),
        ((2, 8, 2), (2, 1, 1), (2, 8, 3), "y must be of rank 4 .*, not of rank 3"),
        ((2, 16, 2), (2, 1, 0), (2, 8, 3), "y must be of rank 3 with 2 lanes of 16 bits, not"),
    ],
)
def test_what_can_not_be_built(x, sel, y, message):
    xs = [Channel("x0", *x), Channel("x1", *x), Channel("sel", *sel)]
    with pytest.raises(StepError, match=f"^design lone: reassemble dut: {message}"):
        lone(Reassemble(2, 2, "index"), xs, [Channel("y", *y)])


def test_producers_differ():
    xs = [Channel("x0", 2, 8, 2), Channel("x1", 2, 16, 2), Channel("sel", 2, 1, 0)]
    with pytest.raises(StepError, match="x_1 must be of rank 2 with 2 lanes of 8 bits, not"):
        lone(Reassemble(2, 2, "index"), xs, [Channel("y", 2, 8, 3)])


def test_parameters_without_sense():
    sel, y = Channel("sel", 1, 1, 0), Channel("y", 2, 8, 3)
    with pytest.raises(StepError, match="it needs at least 1 producer, not 0"):
        lone(Reassemble(0, 2, "index"), [sel], [y])
    with pytest.raises(StepError, match="order must be one of index, arrival, not 'first'"):
        Reassemble(1, 2, "first")
    with pytest.raises(StepError, match="the level of a chunk must be at least 0, not -1"):
        lone(Reassemble(1, -1, "index"), [Channel("x", 2, 8, 2), sel], [y])
