import math

import numpy as np
import pytest
from drawn import LANES, Draw, raises_error, to_beats, verify
from harness import row, simulate, sink, source
from seeds import some_slow

from stepgen.hw.design.registers import TOO_LARGE, detail_of
from stepgen.hw.design.table import Bus, Channel, Design
from stepgen.hw.units.pmu.params import Pmu, Reading
from stepgen.timing.model import Fault, predict


def mapped(items, depth, change):
    """Lists nested `depth` deep with every leaf changed."""
    return [mapped(i, depth - 1, change) for i in items] if depth else change(items)


def zip_nested(a, b, depth, join):
    """Lists nested `depth` deep, joined leaf by leaf."""
    if depth == 0:
        return join(a, b)
    return [zip_nested(i, j, depth - 1, join) for i, j in zip(a, b, strict=True)]


def leaves(items, depth):
    """What is in lists nested `depth` deep."""
    return [leaf for item in items for leaf in leaves(item, depth - 1)] if depth else [items]


def beats(items):
    """Beats of nested lists; an empty one takes one."""
    if isinstance(items, np.ndarray):
        return 1
    return sum(map(beats, items)) if items else 1


def alone(params, x, y, *, ref=None, depth=2):
    """A PMU whose references come back at once."""
    rank = x.rank - params.level
    refs = Channel("refs", 1, params.page_bits, rank, depth=depth)
    ins = [x, *([ref] if ref else [])]
    names = ["x", "refs", *(c.name for c in ins[1:])]
    units = [source(c.name) for c in ins]
    units += [row("dut", params, names, ["refs", "y"]), sink("y")]
    return Design("alone", LANES, Bus(), tuple(units), (*ins, refs, y))


def memory(draw, sizes, fixed):
    """Pages that hold the largest of some chunks, and perhaps more."""
    largest = max(sizes, default=1)
    if fixed:
        return {"pages": draw.one((1, 2, 3)), "page": largest, "fixed": True, "largest": largest}
    page = draw.one((2, 2, 4, 8))
    pages = -(-largest // page) + draw.one((0, 0, 1, 2, 5))
    return {"pages": pages, "page": page, "fixed": False, "largest": largest}


class Chunks:
    """Drawn chunks of tiles or of flags."""

    def __init__(self, draw, fixed):
        self.tiles = draw.one((True, True, False))
        base, self.lanes, self.bits = (2, LANES, 8) if self.tiles else (0, 3, 1)
        self.dtype = np.int8 if self.tiles else bool
        outer, inner = draw.one((0, 0, 1, 2)), draw.one((1, 1, 2))
        slices = draw.one((1, 2, 3))

        def extents(*options):
            return (draw.one(options[1:]),) if fixed else options

        dims = [draw.one(((0,), (1, 4), (9,)))] + [(0, 1, 2)] * outer
        dims += [extents(0, 1, 2, 3, 5) for _ in range(inner)]
        rows = extents(0, 1, 2, 4)

        def element():
            return draw.tile(draw.one(rows), slices) if self.tiles else draw.flags(3, 0.5)

        self.items = draw.nested(dims, element)
        self.outer, self.level = outer + 1, inner + base
        self.rank = outer + self.level
        self.sizes = [beats(chunk) for chunk in leaves(self.items, self.outer)]

    def beats(self, items, above=0):
        return to_beats(items, self.rank + above, self.dtype)

    def channel(self, draw, name, above=0, delay=0):
        return draw.channel(name, self.rank + above, lanes=self.lanes, bits=self.bits, delay=delay)


@pytest.mark.parametrize("seed", some_slow(range(40), 6))
def test_count(seed):
    draw = Draw(seed)
    fixed, counted = draw.one((True, False, False)), draw.one((True, False))
    chunks = Chunks(draw, fixed)
    count = draw.one((1, 2, 3)) if counted else 1
    size = memory(draw, chunks.sizes, fixed)
    params = Pmu(chunks.level, (Reading(count, counted),), bits=chunks.bits, **size)
    y = mapped(chunks.items, chunks.outer, lambda c: [c] * count if counted else c)
    delay = params.delay(LANES)
    design = alone(
        params,
        chunks.channel(draw, "x"),
        chunks.channel(draw, "y", above=counted, delay=delay),
        depth=draw.one((2, 3, 9)),
    )
    verify(
        design,
        {"s_x": chunks.beats(chunks.items)},
        {"d_y": chunks.beats(y, counted)},
        draw.stalls(design),
    )


@pytest.mark.parametrize("seed", some_slow(range(100, 150), 7))
def test_reference(seed):
    draw = Draw(seed)
    fixed, inner, base = draw.one((True, False, False)), draw.one((0, 1, 1, 2)), draw.one((0, 2))
    chunks = Chunks(draw, fixed)

    def element():
        return draw.tile(draw.one((0, 1, 2)), 1) if base else draw.flags(3, 0.5)

    extents = [(0, 1, 2, 3)] * inner
    ref = mapped(chunks.items, chunks.outer, lambda chunk: draw.nested(extents, element))
    y = zip_nested(chunks.items, ref, chunks.outer, lambda c, r: mapped(r, inner, lambda _: c))
    size = memory(draw, chunks.sizes, fixed)
    reading = Reading(None, inner=inner, ref_base=base)
    params = Pmu(chunks.level, (reading,), bits=chunks.bits, **size)
    rank = chunks.outer - 1 + inner + base
    reference = draw.channel("ref", rank, lanes=LANES if base else 3, bits=8 if base else 1)
    design = alone(
        params,
        chunks.channel(draw, "x"),
        chunks.channel(draw, "y", above=inner, delay=params.delay(LANES)),
        ref=reference,
    )
    verify(
        design,
        {
            "s_x": chunks.beats(chunks.items),
            "s_ref": to_beats(ref, rank, "int8" if base else bool),
        },
        {"d_y": chunks.beats(y, inner)},
        draw.stalls(design),
    )


@pytest.mark.parametrize("seed", some_slow(range(200, 225), 5))
def test_affine(seed):
    draw = Draw(seed)
    tiles, rows, slices = draw.one((1, 4, 6, 12)), draw.one((1, 2, 3)), draw.one((1, 2))
    shape = tuple(draw.one((1, 2, 3)) for _ in range(draw.one((1, 2, 3))))
    most = (tiles - 1) // max(1, sum(n - 1 for n in shape))
    stride = tuple(int(draw.rng.integers(most + 1)) for _ in shape)
    count = draw.one((1, 2))
    x = draw.nested([(0, 1, 5), (tiles,)], lambda: draw.tile(rows, slices))

    def read(chunk, dims, start):
        if not dims:
            return chunk[start]
        (extent, by), *inner = dims
        return [read(chunk, inner, start + n * by) for n in range(extent)]

    dims = list(zip(shape, stride, strict=True))
    y = [[read(chunk, dims, 0)] * count for chunk in x]
    page = tiles * rows * slices
    reading = Reading(count, True, shape=shape, stride=stride, tile=rows * slices)
    params = Pmu(3, (reading,), draw.one((1, 2)), page, True, page, 8)
    rank = 3 + len(shape)
    y_channel = draw.channel("y", rank, delay=params.delay(LANES))
    design = alone(params, draw.channel("x", 3), y_channel)
    verify(design, {"s_x": to_beats(x, 3)}, {"d_y": to_beats(y, rank)}, draw.stalls(design))


def linked(count, pages, sizes, page=4):
    draw = Draw(1)
    params = Pmu(3, (Reading(count, True),), pages, page, False, max(sizes), 8)
    x, y = Channel("x", LANES, 8, 3), Channel("y", LANES, 8, 4, depth=5, delay=2)
    items = [[draw.tile(1, 1) for _ in range(n)] for n in sizes]
    return alone(params, x, y), {"s_x": to_beats(items, 3)}


def test_no_gap_between_pages_passes_and_chunks():
    sizes = [13, 4, 1, 8, 3]
    design, inputs = linked(3, 40, sizes)
    predicted = predict(design, inputs)
    pushes = predicted.pushes["y"][:-1]
    assert np.array_equal(np.diff(pushes), np.ones(3 * sum(sizes) - 1))
    # One cycle in the references' FIFO, one in that of pages looked up
    assert pushes[0] == predicted.pops["x"][sizes[0] - 1] + 2


def test_writes_while_it_reads():
    design, inputs = linked(1, 8, [16] * 6)
    predicted = predict(design, inputs)
    assert np.array_equal(np.diff(predicted.pops["x"][:96]), np.ones(95))


@pytest.mark.parametrize(("size", "wrong"), [(8, False), (9, True)])
def test_chunk_that_needs_more_than_all_pages(size, wrong):
    design, inputs = linked(1, 2, [8])
    _, inputs = linked(1, 9, [size])
    assert raises_error(design, inputs) == wrong


def rows_in(items, depth):
    """Rows of a chunk as a PMU counts them; an empty list takes one."""
    if depth == 0:
        return 1
    return sum(rows_in(i, depth - 1) for i in items) if items else 1


def some_chunks(seed):
    """Drawn chunks of which one has two rows at least."""
    for again in range(seed, 100_000, 1000):
        draw = Draw(again)
        chunks = Chunks(draw, False)
        depth = chunks.level - chunks.tiles
        sizes = [rows_in(chunk, depth) for chunk in leaves(chunks.items, chunks.outer)]
        if max(sizes, default=0) > 1:
            return draw, chunks, sizes
    raise AssertionError


@pytest.mark.parametrize("seed", some_slow(range(300, 316), 4))
def test_a_chunk_of_too_many_rows(seed):
    """The error and its rows, also behind a soft reset while rows are counted; then a run."""
    draw, chunks, sizes = some_chunks(seed)
    most = int(draw.rng.integers(1, max(sizes)))
    page = draw.one((2, 2, 4, 8))
    largest = max(chunks.sizes)
    pages = -(-largest // page) + draw.one((0, 1, 5))
    count = draw.one((1, 2))
    reading = Reading(count, True)
    params = Pmu(
        *(chunks.level, (reading,), pages, page, False, largest, chunks.bits),
        most=most,
        row=1 if chunks.tiles else 0,
    )
    x, y = (
        chunks.channel(draw, "x"),
        chunks.channel(draw, "y", above=1, delay=params.delay(LANES)),
    )
    design = alone(params, x, y, depth=draw.one((2, 9)))
    stalls = draw.stalls(design)
    wrong = {"s_x": chunks.beats(chunks.items)}
    with pytest.raises(Fault) as raised:
        predict(design, wrong, stalls=stalls)
    fault = raised.value
    number = next(size for size in sizes if size > most)
    assert fault.detail == detail_of(TOO_LARGE, number)
    assert f"dut stores a buffer of x of {number} rows, and has memory for {most}" in str(fault)

    good = {"s_x": to_beats([], chunks.rank, chunks.dtype)}
    seen: list = []
    counting = fault.cycle + draw.one((1, 2, 3))
    aborts = [counting, fault.stopped.cycles + 20]
    *_, error = simulate(design, good, stalls, aborts=aborts, first=wrong, seen=seen)
    (came, flags, detail), dut = seen[-1], design.units[-2]
    assert dut.name == "dut"
    assert flags == 1 << design.units.index(dut) == 1 << fault.code - 1
    assert detail == fault.detail
    assert len(came["d_y"]) == len(fault.stopped.pops["y"])
    assert not error


def test_walk_of_an_affine_reading():
    reading = Reading(1, shape=(3, 2), stride=(1, 3), tile=2)
    starts = [2 * (i + 3 * j) for i in range(3) for j in range(2)]
    assert reading.walk() == [(start, 2 if n == 5 else n % 2) for n, start in enumerate(starts)]
    assert math.prod(reading.shape) == len(starts)
