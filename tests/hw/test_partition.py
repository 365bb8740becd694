import numpy as np
import pytest
from drawn import Draw, raises_error, to_beats, verify
from harness import lone
from seeds import some_slow

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.hw.design.table import Channel
from stepgen.hw.unit import core_of
from stepgen.hw.units.partition.params import Partition
from stepgen.ir.errors import StepError

EXTENTS = (0, 1, 2, 3, 7)


def partitioned(chunks, selectors, n):
    """The chunks that each output gets, in order; `selectors` nested like the chunks."""
    outs = [[] for _ in range(n)]

    def walk(items, masks, depth):
        if depth == 0:
            for k in np.flatnonzero(masks):
                outs[k].append(items)
        else:
            for item, mask in zip(items, masks, strict=True):
                walk(item, mask, depth - 1)

    return outs, walk


@pytest.mark.parametrize("seed", some_slow(range(24), 4))
def test_routes_chunks(seed):
    draw = Draw(seed)
    n = draw.one((1, 2, 3, 5))
    outer, rank = draw.one(((0, 0), (0, 1), (1, 0), (1, 1), (2, 1), (0, 2), (1, 2)))
    slices = draw.one((1, 2))
    share = draw.one((0.0, 0.3, 0.6, 1.0))

    def leaf():
        inner = [EXTENTS] * rank
        return draw.nested(inner, lambda: draw.tile(draw.one((0, 1, 1, 2, 5)), slices))

    dims = [(0, 1, 4, 9)] + [(0, 1, 2, 3)] * outer
    x = draw.nested(dims, leaf)

    def mask_of(items, depth):
        return [mask_of(i, depth - 1) for i in items] if depth else draw.flags(n, share)

    sel = mask_of(x, outer + 1)
    outs, walk = partitioned(x, sel, n)
    walk(x, sel, outer + 1)

    level = 2 + rank
    params = Partition(n, level, surplus=False)
    forms = [draw.one(({}, {}, {"lanes": 0, "bits": 0})) for _ in range(n)]  # structure alone
    ys = [draw.channel(f"y{k}", level, **form) for k, form in enumerate(forms)]
    design = lone(
        params,
        [draw.channel("x", level + outer), draw.channel("sel", outer, lanes=n, bits=1)],
        [y.pipelined(params.delay(2)) for y in ys],
    )
    verify(
        design,
        {"s_x": to_beats(x, level + outer), "s_sel": to_beats(sel, outer, bool)},
        {f"d_y{k}": to_beats(o, level) for k, o in enumerate(outs)},
        draw.stalls(design),
    )


@pytest.mark.parametrize(
    ("sel", "wrong"),
    [
        ([[1], [1]], False),
        ([[1]], True),
        ([[1, 1]], True),
        ([[1], [1], [1]], True),
        ([[1], []], True),
    ],
)
def test_structures_that_differ(sel, wrong):
    draw = Draw(1)
    x = [[draw.tile(1, 2)], [draw.tile(2, 2)]]
    masks = [[np.ones(1, bool) for _ in group] for group in sel]
    design = lone(
        Partition(1, 2, surplus=False),
        [draw.channel("x", 3), draw.channel("sel", 1, lanes=1, bits=1)],
        [draw.channel("y", 2)],
    )
    inputs = {"s_x": to_beats(x, 3), "s_sel": to_beats(masks, 1, bool)}
    assert raises_error(design, inputs, limit=60) == wrong


@pytest.mark.parametrize(
    ("consumers", "level", "sel", "y", "message"),
    [
        (2, 4, (2, 1, 0), (2, 8, 4), "the level 4 of a chunk must be within 0..3"),
        (2, 2, (3, 1, 1), (2, 8, 2), "sel must be of rank 1 with 2 lanes of 1 bit, not of rank 1"),
        (2, 2, (2, 1, 0), (2, 8, 2), "sel must be of rank 1 with 2 lanes of 1 bit, not of rank 0"),
        (2, 2, (2, 1, 1), (2, 8, 3), "y_0 must be of rank 2 with 2 lanes of 8 bits"),
        (2, 2, (2, 1, 1), (2, 16, 2), "y_0 must be of rank 2 with 2 lanes of 8 bits"),
        (0, 2, (1, 1, 1), (2, 8, 2), "it needs at least 1 consumer, not 0"),
    ],
)
def test_what_can_not_be_built(consumers, level, sel, y, message):
    xs = [Channel("x", 2, 8, 3), Channel("sel", *sel)]
    ys = [Channel(f"y{k}", *y) for k in range(consumers)]
    with pytest.raises(StepError, match=f"^design lone: partition dut: {message}"):
        lone(Partition(consumers, level, surplus=False), xs, ys)


def test_an_output_may_carry_structure_alone():
    xs = [Channel("x", 2, 8, 3), Channel("sel", 2, 1, 1)]
    ys = [Channel("y0", 0, 0, 2), Channel("y1", 2, 8, 2)]
    assert lone(Partition(2, 2, surplus=False), xs, ys)


@pytest.mark.parametrize("consumers", [1, 2, 3])
@pytest.mark.parametrize("rank", [2, 4, 7])
def test_references_by_selectors_narrower_than_their_stops(consumers: int, rank: int) -> None:
    """A selector's wire also has levels of empty groups, which may need more bits than it."""
    g = sg.Graph("routed")
    dims = [2] * (rank + 1)
    buffers = g.input("x", sg.int8[1, 4], [*dims, 2]).bufferize(rank=1)
    parts = sg.partition(buffers, g.input("sel", sg.Selector(consumers, hot=1), dims), rank=0)
    for n, part in enumerate(parts):
        g.output(part.streamify(), f"y{n}")
    design = lower(g)
    (unit,) = (unit for unit in design.units if unit.kind == "partition")
    assert unit.params.shares
    assert core_of(unit, design).elaborate(None) is not None
