"""Accumulators: folds of drawn chunks against golden models, in circuit and cycle model."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest
from drawn import LANES, Draw, explained_states, raises_error, to_beats, verify
from harness import lone
from seeds import one_seed_each, some_slow

import stepgen as sg
from stepgen.functions import Running
from stepgen.hw.arithmetic.operations import Operation
from stepgen.hw.arithmetic.pipeline import Recurrence
from stepgen.hw.design.table import Channel
from stepgen.hw.units.accumulate.params import Accumulate, of_function
from stepgen.ir.errors import StepError
from stepgen.ir.setting import Setting
from stepgen.ir.stalls import Stalls
from stepgen.semantics import numbers
from stepgen.semantics.folding import Fold
from stepgen.timing.model import predict


class SquareSum(Running):
    """The sum of squares: a product that does not depend on the state."""

    def state(self, call, *tiles):
        return tiles[0]

    def update(self, at, state, x):
        return numbers.add(state, numbers.multiply(x, x, at.element), at.element)

    def lane(self, state, x):
        return state + x * x


class ProductSum(Running):
    """The sum of products of two streams."""

    arity = 2

    def state(self, call, *tiles):
        return tiles[0]

    def update(self, at, state, a, b):
        return numbers.add(state, numbers.multiply(a, b, at.element), at.element)

    def lane(self, state, a, b):
        return state + a * b


class Decay(Running):
    """Half of the state and the next tile: two operations from one state to the next."""

    def state(self, call, *tiles):
        return tiles[0]

    def update(self, at, state, x):
        return numbers.add(numbers.multiply(state, half(at), at.element), x, at.element)

    def lane(self, state, x):
        return state * 0.5 + x


class Keep(Running):
    """The initial state, whatever comes."""

    def state(self, call, *tiles):
        return tiles[0]

    def update(self, at, state, x):
        return state

    def lane(self, state, x):
        return state


class Newest(Running):
    """The last tile, whatever came before."""

    def state(self, call, *tiles):
        return tiles[0]

    def update(self, at, state, x):
        return x

    def lane(self, state, x):
        return x


def half(at: Setting):
    return numbers.constant(0.5, at.element)


@dataclass(frozen=True)
class Update:
    """An update with its types."""

    function: Running
    state: sg.ElementType
    operand: sg.ElementType
    loop: int
    operands: int = 1


UPDATES = {
    "int8 add": Update(sg.fn.add(), sg.int8, sg.int8, 1),
    "int32 maximum": Update(sg.fn.maximum(), sg.int32, sg.int32, 2),
    "int8 products": Update(sg.fn.mul(), sg.int32, sg.int8, 4),
    "bf16 minimum": Update(sg.fn.minimum(), sg.bf16, sg.bf16, 1),
    "f32 add": Update(sg.fn.add(), sg.f32, sg.f32, 10),
    "bf16 squares": Update(SquareSum(), sg.bf16, sg.bf16, 8),
    "int8 sum of products": Update(ProductSum(), sg.int32, sg.int8, 1, operands=2),
    "bf16 decay": Update(Decay(), sg.bf16, sg.bf16, 14),
    "int8 keep": Update(Keep(), sg.int8, sg.int8, 1),
    "int8 newest": Update(Newest(), sg.int8, sg.int8, 1),
    "bf16 newest": Update(Newest(), sg.bf16, sg.bf16, 1),
}


def values(draw: Draw, element: sg.ElementType, rows: int, cols: int) -> np.ndarray:
    """A tile, with special numbers among floats."""
    if element in (sg.int8, sg.int32):
        return draw.rng.integers(-128, 128, (rows, cols)).astype(element.name)
    dtype = ml_dtypes.bfloat16 if element is sg.bf16 else np.float32
    special = draw.rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan], (rows, cols))
    plain = draw.rng.normal(size=(rows, cols)) * 2.0 ** draw.rng.integers(-9, 9, (rows, cols))
    return np.where(draw.rng.random((rows, cols)) < 0.1, special, plain).astype(dtype)


def slices(tile: np.ndarray) -> list:
    """A tile as rows of beats."""
    return [list(row.reshape(-1, LANES)) for row in tile]


def mapped(items, depth, change):
    """Lists nested `depth` deep with every leaf changed."""
    return [mapped(i, depth - 1, change) for i in items] if depth else change(items)


def leaves(items, depth):
    """All leaves of lists nested `depth` deep."""
    return [leaf for item in items for leaf in leaves(item, depth - 1)] if depth else [items]


def numbers_type(element: sg.ElementType):
    return numbers.DTYPES[element.name]


def accumulator(
    update: Update, rows: int, count: int, rank: int, *, fixed=True, every=False, start=0
) -> Accumulate:
    """The unit of an update for tiles of so many rows of `count` beats."""
    extent = rows if fixed else sg.dynamic("R", bound=rows)
    state = sg.Tile(extent, count * LANES, update.state)
    operand = sg.Tile(extent, count * LANES, update.operand)
    made = of_function(
        update.function.lane,
        [state, *[operand] * update.operands],
        start,
        2 + rank,
        LANES,
        every=every,
    )
    assert made is not None
    return made


def pattern(number: float, element: sg.ElementType) -> int:
    return int.from_bytes(np.full(1, number, numbers_type(element)).tobytes(), "little")


def plain(name: str, chunks: list[list[int]], count: int, *, rows: int, fixed=True, every=False):
    """A design for chunks of tiles with so many rows of `count` beats, and its input."""
    draw, update = Draw(1), UPDATES[name]
    params = accumulator(update, rows, count, 1, fixed=fixed, every=every)
    x = [[slices(values(draw, update.operand, r, count * LANES)) for r in c] for c in chunks]
    left, bits = 3 if every else 2, update.state.bits
    delay = params.delay(LANES)
    out = Channel("y", LANES, bits, left, depth=delay + 3, delay=delay)
    design = lone(params, [Channel("x", LANES, update.operand.bits, 3)], [out])
    return design, {"s_x": to_beats(x, 3, numbers_type(update.operand))}


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize(("name", "rows"), [("int8 add", 1), ("int32 maximum", 2), ("f32 add", 10)])
def test_full_speed_where_a_tile_outlasts_the_loop(name, rows, every):
    design, inputs = plain(name, [[rows] * 3] * 5, 1, rows=rows, every=every)
    pops = predict(design, inputs).pops["x"]
    assert pops[-2] - pops[0] == 5 * 3 * rows - 1


@pytest.mark.parametrize("every", [False, True])
def test_a_small_tile_takes_as_long_as_the_loop(every):
    design, inputs = plain("f32 add", [[4] * 5], 1, rows=4, every=every)
    pops = predict(design, inputs).pops["x"]
    assert [t - pops[0] for t in pops[:-1:4]] == [0, 10, 20, 30, 40]


def test_a_state_leaves_while_the_next_chunk_enters():
    design, inputs = plain("f32 add", [[12] * 2] * 2, 1, rows=12)
    predicted = predict(design, inputs)
    pops, pushes = predicted.pops["x"], predicted.pushes["y"]
    assert list(pushes[:12]) == list(pops[24:36])


@pytest.mark.parametrize("every", [False, True])
def test_tiles_without_rows_and_chunks_without_tiles(every):
    for fixed, rows, sizes, stalls in (
        (False, 3, [[0, 0], [2, 2], [0], [3], [0, 0, 0]], Stalls()),
        (True, 2, [[], [2, 2], [], [], [2]], Stalls(3, {"d_y": 0.6})),
        (True, 0, [[], [0, 0], [0]], Stalls(4, {"s_x": 0.6})),
    ):
        params = accumulator(UPDATES["int8 add"], rows, 1, 1, fixed=fixed, every=every)
        draw = Draw(2)
        chunks = [[values(draw, sg.int8, n, LANES) for n in chunk] for chunk in sizes]
        nothing = np.zeros((rows, LANES), np.int8)
        if every:
            due = [[sum(c[: n + 1]) for n in range(len(c))] for c in chunks]
        else:
            due = [sum(c, np.zeros_like(c[0])) if c else nothing for c in chunks]
        left = 3 if every else 2
        out = Channel("y", LANES, 8, left, depth=4, delay=params.delay(LANES))
        design = lone(params, [Channel("x", LANES, 8, 3)], [out])
        x = to_beats(mapped(chunks, 2, slices), 3)
        y = to_beats(mapped(due, left - 1, slices), left)
        verify(design, {"s_x": x}, {"d_y": y}, stalls)


def test_a_state_that_finds_no_room_counts_as_full():
    design, inputs = plain("int8 add", [[2, 2]] * 8, 1, rows=2)
    stalls = Stalls(1, {"d_y": 0.9})
    (actor,) = (a for a in predict(design, inputs, stalls=stalls).activities if a.unit == "dut")
    assert actor.full > actor.starved
    slow = Stalls(1, {"s_x": 0.9})
    (actor,) = (a for a in predict(design, inputs, stalls=slow).activities if a.unit == "dut")
    assert not actor.full


@pytest.mark.parametrize("seed", some_slow(range(6), 3))
def test_a_state_that_finds_no_room_counts_as_full_whatever_enters(seed):
    """As many words leave as enter, so that at times there is neither an input nor room."""
    design, inputs = plain("int8 add", [[8]] * 8, 1, rows=8)
    stalls = Stalls(seed, {"s_x": 0.6, "d_y": 0.6})
    explained_states(predict(design, inputs, stalls=stalls))


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize(
    ("fixed", "rows", "wrong"),
    [
        (False, (3, 3, 3), False),
        (False, (4, 4), False),
        (False, (0, 0), False),
        (False, (5, 5), True),
        (False, (3, 2), True),
        (False, (3, 4), True),
        (False, (0, 1), True),
        (False, (1, 0), True),
        (True, (4, 4), False),
        (True, (3, 3), True),
    ],
)
def test_tiles_that_do_not_fit(fixed, rows, wrong, every):
    design, inputs = plain("int8 add", [list(rows)], 2, rows=4, fixed=fixed, every=every)
    assert raises_error(design, inputs, limit=60) == wrong


@pytest.mark.parametrize(("fixed", "wrong"), [(False, True), (True, False)])
def test_a_chunk_without_tiles_needs_static_rows(fixed, wrong):
    design, inputs = plain("int8 add", [[4], []], 2, rows=4, fixed=fixed)
    assert raises_error(design, inputs, limit=60) == wrong


def test_rows_of_another_length():
    design, _ = plain("int8 add", [[1]], 2, rows=4, fixed=False)
    _, inputs = plain("int8 add", [[2]], 1, rows=4, fixed=False)
    assert raises_error(design, inputs, limit=60)


def test_operands_that_differ():
    update = UPDATES["int8 sum of products"]
    params = accumulator(update, 2, 1, 1)
    draw = Draw(1)
    heads = [Channel(n, LANES, 8, 3) for n in "ab"]
    design = lone(params, heads, [Channel("y", LANES, 32, 2, depth=9, delay=params.delay(LANES))])
    tile = slices(values(draw, sg.int8, 2, LANES))
    a, b = to_beats([[tile], [tile]], 3), to_beats([[tile, tile]], 3)
    assert raises_error(design, {"s_a": a, "s_b": b}, limit=60)
    assert not raises_error(design, {"s_a": a, "s_b": a}, limit=60)


def test_what_does_not_depend_on_the_state_is_computed_ahead():
    product = Operation("multiply", (1, 1), "f32")
    total = Operation("add", (0, 2), "f32")
    pipeline = Recurrence(("f32", "f32"), (product, total))
    assert (pipeline.lead, pipeline.loop, pipeline.stages) == (8, 10, 18)


ADD = (Operation("add", (0, 1), "int8"),)


@pytest.mark.parametrize(
    ("changed", "x", "y", "message"),
    [
        ({"level": 4}, (2, 8, 3), (2, 8, 2), "the level 4 of a chunk must be within 3..3"),
        ({"level": 2}, (2, 8, 3), (2, 8, 2), "the level 2 of a chunk must be within 3..3"),
        ({"slices": 0}, (2, 8, 3), (2, 8, 2), "tiles need slices and rows, not 0 and 4"),
        ({"rows": -1}, (2, 8, 3), (2, 8, 2), "tiles need slices and rows, not 2 and -1"),
        ({"start": 256}, (2, 8, 3), (2, 8, 2), "a state of int8 can't start at 256"),
        ({"operands": ("int8",)}, (2, 8, 3), (2, 8, 2), "it needs the element types of the state"),
        ({"operands": ("int8", "int7")}, (2, 8, 3), (2, 8, 2), "int7 is not an element type"),
        (
            {"operations": (Operation("multiply", (0, 1), "int32"),)},
            (2, 8, 3),
            (2, 8, 2),
            "an update makes int32, but the state is int8",
        ),
        ({}, (2, 16, 3), (2, 8, 2), "x must be of rank 3 with 2 lanes of 8 bits, not"),
        ({}, (2, 8, 3, "bool"), (2, 8, 2), "x must carry int8, not bool"),
        ({}, (2, 8, 3), (2, 8, 3), "y must be of rank 2 with 2 lanes of 8 bits 2 cycles late"),
        ({"every": True}, (2, 8, 3), (2, 8, 2), "y must be of rank 3 with 2 lanes of 8 bits 3 cyc"),
    ],
)
def test_what_can_not_be_built(changed, x, y, message):
    params = {
        "operands": ("int8", "int8"),
        "operations": ADD,
        "start": 0,
        "level": 3,
        "slices": 2,
        "rows": 4,
        "fixed": True,
        "every": False,
        **changed,
    }
    lanes, bits, rank, *element = x
    head = Channel("x", lanes, bits, rank, element=element[0] if element else "")
    heads = [head] if len(params["operands"]) > 1 else []
    with pytest.raises(StepError, match=f"^design lone: accumulate dut: {message}"):
        lone(Accumulate(**params), heads, [Channel("y", *y, delay=2)])


@pytest.mark.parametrize(("seed", "name", "every"), one_seed_each(range(4), UPDATES, (False, True)))
def test_folds(seed, name, every):
    draw, update = Draw(seed), UPDATES[name]
    outer, count, fixed = draw.one((0, 0, 1, 2)), draw.one((1, 1, 2, 3)), draw.one((True, False))
    most = draw.one((1, 1, 2, 5, 12))
    rank = draw.one((1, 1, 2, 3))
    dims = [draw.one(((0,), (1, 3), (7,)))] + [(0, 1, 2)] * outer
    inner = [draw.one(((1, 2), (0, 1, 3), (4,)))] + [(0, 1, 2)] * (rank - 1)
    if not fixed:  # a state has no size without tiles
        inner = [tuple(max(1, n) for n in d) for d in inner]

    def chunk():
        rows = most if fixed else draw.one((0, 1, most))
        return draw.nested(
            inner,
            lambda: [
                values(draw, update.operand, rows, count * LANES) for _ in range(update.operands)
            ],
        )

    x = draw.nested(dims, chunk)
    extent = most if fixed else sg.dynamic("R", bound=most)
    tile = sg.Tile(extent, count * LANES, update.state)
    init = draw.one((None, 3))
    at = Setting(tile, numbers_type(update.state), LANES)
    fold = Fold(update.function, at, init)

    def folded(tiles):
        made = []
        for operands in leaves(tiles, rank):
            fold.update(operands)
            made.append(slices(fold.tile().copy()))
        whole = slices(fold.tile().copy()) if not every else None
        fold.reset()
        if not every:
            return whole
        left = iter(made)
        return mapped(tiles, rank, lambda _: next(left))

    depth = outer + 1
    y = mapped(x, depth, folded)
    given = update.function.identity(at) if init is None else init
    start = pattern(given, update.state)
    params = accumulator(update, most, count, rank, fixed=fixed, every=every, start=start)
    assert params.pipeline.loop == update.loop
    level = 2 + outer + rank
    left = level if every else 2 + outer
    bits = update.operand.bits
    heads = [draw.channel(f"x{n}", level, bits=bits) for n in range(update.operands)]
    out = draw.channel("y", left, bits=update.state.bits, delay=params.delay(LANES))
    design = lone(params, heads, [out])
    inputs = {
        f"s_x{n}": to_beats(
            mapped(x, depth + rank, lambda t, n=n: slices(t[n])),
            level,
            numbers_type(update.operand),
        )
        for n in range(update.operands)
    }
    expected = {"d_y": to_beats(y, left, numbers_type(update.state))}
    verify(design, inputs, expected, draw.stalls(design))
