"""Derived FIFO depths, on designs small enough to work them out by hand."""

from __future__ import annotations

import numpy as np
import pytest

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.cosim.experiment import Experiment
from stepgen.hw.units.store_forward.params import StoreForward
from stepgen.program import program as programs
from stepgen.timing.deadlock import Deadlock

LANES = 4


def rows(g: sg.Graph, count: int | str, width: int = 8, name: str = "x"):
    return g.input(name, sg.int8[1, width], (count,))


def matrix(g: sg.Graph, ref, *, width: int = 8):
    w = g.tensor("w", (width, width), sg.int8)
    loaded = sg.linear_offchip_load(w, tile=(width, width), shape=(1,), stride=(1,), ref=ref)
    return loaded.flatten(0, 1)


def own_weights() -> sg.Graph:
    """The first row of a tile triggers the load of its weights: nothing waits for its last."""
    g = sg.Graph("own")
    tile = rows(g, 6).promote().accum(sg.fn.retile_row(), rank=1)
    g.output(tile.map(sg.fn.matmul(), matrix(g, tile)), "y")
    return g


def late_weights() -> sg.Graph:
    """The stops of the weights are used, so the last of them wait for the tile's end."""
    g = sg.Graph("late")
    tile = rows(g, 6).promote().accum(sg.fn.retile_row(), rank=1)
    weights = matrix(g, tile)
    g.output(tile.map(sg.fn.matmul(), weights), "y")
    g.output(weights.promote(), "seen")
    return g


def gate() -> sg.Graph:
    """Rows from two paths, put back in order: the selectors wait for the path that packs."""
    g = sg.Graph("gate")
    x, sel = rows(g, 5), g.input("sel", sg.Selector(2), (5,))
    one, other = sg.partition(x, sel, rank=0)
    packed = one.promote().accum(sg.fn.retile_row(), rank=1)
    cut = packed.flat_map(sg.fn.retile_streamify("row"), rank=0)
    g.output(sg.reassemble([cut, other], sel, rank=0), "y")
    return g


def padded() -> sg.Graph:
    """A row's flag goes with its first beat, and its tile with the rows: nothing waits."""
    g = sg.Graph("padded")
    data, padding = rows(g, 6, 128).reshape(chunk=1, pad=0)
    tile = data.accum(sg.fn.retile_row(), rank=1)
    g.output(tile.flat_map(sg.fn.retile_streamify("row"), rank=0, padding=padding), "y")
    return g


def crossed() -> sg.Graph:
    """Two streams multiplied with each other in both orders: tile n of one meets tile n of both."""
    g = sg.Graph("crossed")
    x, z = (g.input(name, sg.int8[8, 8], (3,)) for name in "xz")
    g.output(x.map(sg.fn.matmul(), z), "xz")
    g.output(z.map(sg.fn.matmul(), x), "zx")
    return g


def straight() -> sg.Graph:
    """A chain without fork and join: nothing waits."""
    g = sg.Graph("straight")
    g.output(rows(g, 6).promote().accum(sg.fn.retile_row(), rank=1), "y")
    return g


def in_turn() -> sg.Graph:
    """Packed rows of two ways, repeated and put back in order: the memory of Expand holds them."""
    g = sg.Graph("in_turn")
    x, sel = rows(g, 5), g.input("sel", sg.Selector(2), (5,))

    def repeated(x: sg.Stream) -> sg.Stream:
        copies = x.promote().accum(sg.fn.retile_row(), rank=1).promote(0).expand(count=3)
        return copies.flat_map(sg.fn.retile_streamify("row"), rank=0)

    ways = [repeated(way).flatten(0, 1) for way in sg.partition(x, sel, rank=0)]
    again = repeated(sel.map(sg.fn.as_flags())).map(sg.fn.as_selector())
    g.output(sg.reassemble(ways, again, rank=0), "y")
    return g


SLICES = 8 // LANES
TILE = 8 * SLICES
DEEP = {
    straight: {},
    in_turn: {},
    own_weights: {},
    padded: {},
    # The whole tile: 6 rows.
    late_weights: {"accum_0_to_map_0": 6 * SLICES},
    # All selectors and DONE, of which the merge holds one; all rows that go the other way and DONE.
    gate: {"sel_to_reassemble_0": 5, "partition_0_1": 5 * SLICES + 1},
    # A tile of one of them: until it is whole, the other is not yet needed.
    crossed: {"x_to_map_0": TILE},
}

FULL_RATE = {
    # Two cycles from a tile's first row to its request and weights.
    own_weights: {"accum_0_to_map_0": 4},
    # A tile is whole only when its last row is there.
    crossed: {"x_to_map_0": TILE + 2, "z_to_map_1": TILE + 2},
}

# A promote that writes to all branches of a fork leaves each the beats in front of the fork.
BRANCHES = {key: {"accum_0_to_linear_offchip_load_0": 4} for key in (own_weights, late_weights)}


@pytest.mark.parametrize("program", DEEP, ids=lambda p: p.__name__)
def test_what_is_derived(program):
    design = lower(program(), lanes=LANES)
    deep = {c.name: c.depth for c in design.channels if c.rank is not None and not c.delay}
    assert {name: depth for name, depth in deep.items() if depth > 2} == {
        **DEEP[program],
        **FULL_RATE.get(program, {}),
        **BRANCHES.get(program, {}),
    }


@pytest.mark.parametrize("program", DEEP, ids=lambda p: p.__name__)
def test_it_runs(program):
    g, rng = program(), np.random.default_rng(0)
    inputs = {t.name: np.zeros(t.shape, np.int8) for t in g.tensors.values()}
    for node in g.nodes:
        if node.op == "source":
            (x,) = node.outputs
            inputs[node.name] = drawn(x, rng)
    experiment = Experiment(g, inputs, lanes=LANES)
    assert experiment.prediction.cycles > 0
    if DEEP[program]:
        deep = {*DEEP[program], *FULL_RATE.get(program, {})}
        shallow = Experiment(g, inputs, lanes=LANES, depths=dict.fromkeys(deep, 2))
        with pytest.raises(Deadlock):
            _ = shallow.prediction


def drawn(x, rng):
    """Contents of an input; selectors that name the second stream from the second on."""
    count = x.shape[0].static
    if isinstance(x.dtype, sg.Selector):
        return np.arange(2) == (np.arange(count) > 0)[:, None]
    size = count, x.dtype.rows.static, x.dtype.cols.static
    return rng.integers(-9, 9, size).astype(np.int8)


def rounds(rows: int | str) -> sg.Graph:
    """Tiles that go round a loop, whose FIFOs nobody has given a depth."""
    g = sg.Graph("rounds")
    tile = sg.int8[rows if isinstance(rows, int) else sg.dynamic(rows), 8]
    enters = g.input("enters", sg.Selector(2, hot=1), ("S",))
    back = g.feedback(tile, ("B",), "back")
    y = sg.reassemble([g.input("x", tile, ("N",)), back], enters, rank=0).flatten(0, 1)
    leaves = g.feedback(sg.Selector(2, hot=1), y.shape[:1], "exits")
    out, again = sg.partition(y, leaves, rank=0, name="exit")
    leaves.connect(g.input("leaves", sg.Selector(2, hot=1), ("L",)))
    back.connect(again)
    g.output(out, "y")
    return g


@pytest.mark.parametrize("rows", [1, 3, 9, 40])
def test_a_chunk_that_goes_round_fits_into_its_loop(rows: int) -> None:
    g = rounds(rows)
    one = [[1, 0], [0, 1], [0, 1]]
    data = np.arange(2 * rows * 8).reshape(2, rows, 8) % 100
    given = {"x": data, "enters": one * 2, "leaves": [[0, 1], [0, 1], [1, 0]] * 2}
    experiment = Experiment(g, given, lanes=LANES)
    assert experiment.design.channel["exit_1"].depth == 2 * rows + 1
    assert experiment.prediction.cycles
    assert np.array_equal(experiment.reference.nested("y"), data)
    if rows > 9:
        with pytest.raises(Deadlock, match="exit_1") as message:
            assert Experiment(g, given, lanes=LANES, depths={"exit_1": 2}).prediction
        assert message.value.remedy


def test_chunks_without_a_bound_circulate_as_far_as_depths_go() -> None:
    assert lower(rounds("R")).channel["exit_1"].depth == 2


def packed(bound: int | None = 20) -> sg.Graph:
    """Rows of one stream become two tiles, which are merged as they come."""
    g = sg.Graph("packed")
    x = g.input("x", sg.int8[1, 8], (sg.dynamic("N", bound=bound),))
    sel = g.input("sel", sg.Selector(2, hot=1), (sg.dynamic("N", bound=bound),))
    parts = sg.partition(x, sel, rank=0)
    tiles = [part.promote().accum(sg.fn.retile_row(), rank=1) for part in parts]
    merged, names = sg.eager_merge(tiles, rank=0, name="merge")
    g.output(merged, "y")
    g.output(names, "names")
    return g


@pytest.mark.parametrize("ways", ["alternating", "first", "blocks"])
def test_unfinished_chunks_do_not_hold_up_a_merge(ways: str) -> None:
    """Both tiles grow at a time, and both end with the stream."""
    bits = {"alternating": [0, 1] * 10, "first": [0] * 20, "blocks": [0] * 10 + [1] * 10}[ways]
    given = {"x": np.arange(160).reshape(20, 1, 8) % 100, "sel": np.eye(2, dtype=bool)[bits]}
    experiment = Experiment(packed(), given, lanes=LANES)
    assert experiment.prediction.choices["merge"] == sorted(set(bits))
    assert len(experiment.reference.nested("y")) == len(set(bits))
    stored = {u.name: u.params.largest for u in experiment.design.of_kind(StoreForward)}
    assert stored == {"merge_x_0": 40, "merge_x_1": 40}


def test_chunks_of_one_beat_are_merged_without_memory() -> None:
    g = sg.Graph("beats")
    xs = [g.input(name, sg.int8[1, LANES], ("N",)) for name in "ab"]
    g.output(sg.eager_merge(xs, rank=0)[0], "y")
    assert not list(lower(g).of_kind(StoreForward))


def test_chunks_without_a_bound_are_not_merged_by_arrival() -> None:
    with pytest.raises(
        sg.StepError,
        match=r"merge at .*: the number of tiles of a chunk of accum_0.0.* has no .*bound",
    ):
        lower(packed(None))


def meeting_twice(count: int | str, tile: sg.Tile = sg.int8[1, 8]) -> list[sg.Graph]:
    """Programs whose two or four inputs, or loads, meet in two places."""
    graphs = [sg.Graph(name) for name in ("pair", "complex", "masks", "groups", "loads")]
    pair, product, masks, groups, loads = graphs
    x, y = (pair.input(name, tile, (count,)) for name in "xy")
    pair.output(x.map(sg.fn.add(), y), "sum")
    pair.output(x.map(sg.fn.sub(), y), "difference")
    a, b, c, d = (product.input(name, sg.bf16[1, 8], (count,)) for name in "abcd")
    real = a.map(sg.fn.mul(), c).map(sg.fn.sub(), b.map(sg.fn.mul(), d))
    product.output(real, "real")
    product.output(a.map(sg.fn.mul(), d).map(sg.fn.add(), b.map(sg.fn.mul(), c)), "imaginary")
    x, n = masks.input("x", tile, (count,)), masks.input("n", sg.address[1, 1], (count,))
    masks.output(x.map(sg.fn.mask_cols(0), n), "zeros")
    masks.output(x.map(sg.fn.mask_cols(1), n), "ones")
    x, y = groups.input("x", tile, (count, 4)), groups.input("y", tile, (count,))
    for function in (sg.fn.add(), sg.fn.sub()):
        groups.output(x.map(function, y.promote(0).expand(x)), function.name)
    x, y = (
        sg.linear_offchip_load(
            loads.tensor(name, (64, 8), sg.int8), tile=(4, 8), shape=(16,), stride=(1,)
        )
        for name in "xy"
    )
    loads.output(x.map(sg.fn.maximum(), y), "larger")
    loads.output(x.map(sg.fn.minimum(), y), "smaller")
    return graphs


@pytest.mark.parametrize("count", [64, 1024, "N"])
def test_streams_that_meet_twice_need_no_space_for_a_run(count):
    """Depths are those of latencies, whatever the number of elements, and without a bound."""
    for g in meeting_twice(count):
        design = lower(g, lanes=LANES)
        assert max(c.depth for c in design.channels if c.rank is not None) <= 20, g.name


def test_depths_do_not_grow_with_requests_or_caches():
    def deepest(requests: int, filled: int) -> int:
        given = {"batch": str(requests), "mean": str(filled), "stdev": "0", "data": "false"}
        design = lower(programs.load("attention", given).graph)
        return max(c.depth for c in design.channels if c.rank is not None)

    assert deepest(2, 31) == deepest(64, 31) == deepest(2, 255)
