import numpy as np
import pytest
from drawn import LANES, Draw, raises_error, to_beats, verify
from harness import lone
from seeds import some_slow

from stepgen.hw.design.table import Channel
from stepgen.hw.units.group.params import Group
from stepgen.hw.units.reshape.params import Reshape
from stepgen.ir.errors import StepError
from stepgen.ir.stalls import Stalls
from stepgen.ir.wire import BARE, Beats


def grouped(items, depth, chunk, pad=None):
    """The dim `depth` lists down in chunks; a short one is filled up with `pad`."""
    if depth:
        return [grouped(i, depth - 1, chunk, pad) for i in items]
    chunks = [items[k : k + chunk] for k in range(0, len(items), chunk)]
    return [c + [pad] * (chunk - len(c)) for c in chunks]


def mapped(items, depth, change):
    """Lists nested `depth` deep with every leaf changed."""
    return [mapped(i, depth - 1, change) for i in items] if depth else change(items)


def plain(flags):
    """Flags without stops, and without the empty groups between them."""
    kept = flags.kind != BARE
    return Beats(flags.kind[kept], 0 * flags.stop[kept], flags.low[kept], flags.data[kept])


@pytest.mark.parametrize("prompt", [False, True])
@pytest.mark.parametrize("seed", some_slow(range(32), 4))
def test_pads(seed, prompt):
    draw = Draw(seed)
    rank, chunk, slices = draw.one((0, 0, 1, 2)), draw.one((1, 2, 3, 4)), draw.one((1, 2))
    pad, rows = draw.one((0, 5, -3)), draw.one((1, 1, 0, 3))
    extents = (0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk, 4 * chunk + 1)
    others = [(0, 1, 4)] + [(0, 1, 2, 3)] * (rank - 1)
    dims = [*others[:rank], extents]
    tile_rows = (rows,) if rows == 1 else (0, 1, 2)
    x = draw.nested(dims, lambda: draw.tile(draw.one(tile_rows), slices))
    padding = [[np.full(LANES, pad, np.int8)] * slices] * rows
    y = grouped(x, rank, chunk, padding)
    flags = to_beats(mapped(y, rank + 2, lambda item: np.array([item is padding])), rank + 1, bool)
    with_flags = draw.one((True, True, False))

    params = Reshape(2, chunk, rows, slices, pad, prompt, flagged=with_flags)
    if prompt:
        flags = plain(flags)
    outs = [draw.channel("y", rank + 3), draw.channel("flags", rank + 1, lanes=1, bits=1)]
    design = lone(params, [draw.channel("x", rank + 2)], outs if with_flags else outs[:1])
    verify(
        design,
        {"s_x": to_beats(x, rank + 2)},
        {"d_y": to_beats(y, rank + 3), "d_flags": flags},
        draw.stalls(design),
    )


@pytest.mark.parametrize("prompt", [False, True])
def test_flags_stall_one_beat_alone(prompt):
    """A beat without a flag moves although the flags' channel is full."""
    draw = Draw(3)
    x = [draw.tile(1, 6) for _ in range(8)]
    design = lone(
        Reshape(level=2, chunk=4, rows=1, slices=6, pad=0, prompt=prompt),
        [Channel("x", 2, 8, 2)],
        [Channel("y", 2, 8, 3), Channel("flags", 1, 1, 1)],
    )
    y = to_beats(grouped(x, 0, 4), 3)
    flags = to_beats([[np.zeros(1, bool)] * 4] * 2, 1, bool)
    flags = plain(flags) if prompt else flags
    stalls = Stalls(2, {"d_flags": 0.95})
    moved = verify(design, {"s_x": to_beats(x, 2)}, {"d_y": y, "d_flags": flags}, stalls).pushes
    with_flags = slice(0, None, 6) if prompt else slice(5, None, 6)
    assert moved["flags"].tolist()[:8] == moved["y"][:-1][with_flags].tolist()


@pytest.mark.parametrize("seed", some_slow(range(12), 3))
@pytest.mark.parametrize("n", [1, 3])
def test_selectors_are_their_own_elements(seed, n):
    """A reshaped selector steers a partition, so that the model has to know its padding."""
    draw = Draw(seed)
    chunk, pad = draw.one((1, 2, 3)), draw.one((0, 1))
    sel = draw.nested([(0, 1, 3), (0, 1, chunk, chunk + 1)], lambda: draw.flags(n, 0.5))
    padding = np.full(n, bool(pad))
    y = grouped(sel, 1, chunk, padding)
    flags = mapped(y, 3, lambda item: np.array([item is padding]))
    design = lone(
        Reshape(level=0, chunk=chunk, rows=1, slices=1, pad=pad, prompt=False),
        [draw.channel("x", 1, lanes=n, bits=1)],
        [draw.channel("y", 2, lanes=n, bits=1), draw.channel("flags", 2, lanes=1, bits=1)],
    )
    verify(
        design,
        {"s_x": to_beats(sel, 1, bool)},
        {"d_y": to_beats(y, 2, bool), "d_flags": to_beats(flags, 2, bool)},
        draw.stalls(design),
    )


@pytest.mark.parametrize("seed", some_slow(range(16), 4))
def test_group(seed):
    draw = Draw(seed)
    dim, outer, chunk = draw.one((0, 1, 2)), draw.one((0, 1, 2)), draw.one((1, 2, 3))
    extent = chunk * draw.one((1, 2, 3))
    slices = draw.one((1, 2))
    others = [(0, 1, 3)] + [(0, 1, 2)] * (outer - 1)
    dims = [*others[:outer], (extent,)] + [(0, 1, 2)] * dim
    x = draw.nested(dims, lambda: draw.tile(draw.one((0, 1, 2)), slices))
    rank = outer + dim + 2
    design = lone(
        Group(level=2 + dim, chunk=chunk),
        [draw.channel("x", rank)],
        [draw.channel("y", rank + 1)],
    )
    y = to_beats(grouped(x, outer, chunk), rank + 1)
    verify(design, {"s_x": to_beats(x, rank)}, {"d_y": y}, draw.stalls(design))


@pytest.mark.parametrize(("rank", "count", "wrong"), [(1, 4, 0), (1, 3, 1), (0, 4, 0), (0, 5, 1)])
def test_group_that_does_not_divide(rank, count, wrong):
    draw = Draw(0)
    tiles = [draw.tile(1, 1) for _ in range(count)]
    design = lone(
        Group(level=2, chunk=2),
        [Channel("x", 2, 8, 2 + rank)],
        [Channel("y", 2, 8, 3 + rank)],
    )
    inputs = {"s_x": to_beats([tiles] if rank else tiles, 2 + rank)}
    assert raises_error(design, inputs, limit=30) == bool(wrong)


@pytest.mark.parametrize(
    ("changed", "y", "padding", "message"),
    [
        ({"level": 1}, (2, 8, 4), (1, 1, 3), "the level of an element must be 0 or 2, not 1"),
        ({"chunk": 0}, (2, 8, 4), (1, 1, 2), "a chunk must have at least 1 element, not 0"),
        ({"rows": -1}, (2, 8, 4), (1, 1, 2), "padding must have at least 0 rows of 1 slice, not"),
        ({"level": 0}, (2, 8, 4), (1, 1, 4), "padding must have 1 row of 1 slice, not 2 rows of 3"),
        ({}, (2, 8, 3), (1, 1, 2), "y must be of rank 4 with 2 lanes of 8 bits, not of rank 3"),
        ({}, (4, 8, 4), (1, 1, 2), "y must be of rank 4 with 2 lanes of 8 bits, not of rank 4"),
        ({}, (2, 8, 4), (1, 1, 3), "padding must be of rank 2 with 1 lane of 1 bit, not of rank"),
        ({}, (2, 8, 4), (2, 8, 2), "padding must be of rank 2 with 1 lane of 1 bit, not of rank"),
    ],
)
def test_what_can_not_be_built(changed, y, padding, message):
    params = {"level": 2, "chunk": 2, "rows": 2, "slices": 3, "pad": 0, "prompt": False, **changed}
    ys = [Channel("y", *y), Channel("padding", *padding)]
    with pytest.raises(StepError, match=f"^design lone: reshape dut: {message}"):
        lone(Reshape(**params), [Channel("x", 2, 8, 3)], ys)
