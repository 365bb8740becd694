"""Element-wise functions one behind the other: one unit or several, the same values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from harness import check
from seeds import one_seed_each, some_slow

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.cosim.experiment import Experiment
from stepgen.hw.arithmetic.operations import Operation
from stepgen.hw.design.table import Design
from stepgen.hw.units.flatten.params import Flatten
from stepgen.hw.units.fork.params import Fork
from stepgen.hw.units.pcu.params import Pcu, joined
from stepgen.hw.units.promote.params import Promote
from stepgen.ir.errors import StepError
from stepgen.ir.stalls import Stalls
from stepgen.ir.stream import Stream
from stepgen.program.inputs import complete

LANES = 2
ROWS, COLUMNS, TILES = 3, 5, 3
TILE = sg.Tile(ROWS, COLUMNS, sg.int8)


def drawn(seed: int) -> sg.Graph:
    """A tree of functions that change the type, with operands of every shape."""
    rng = np.random.default_rng(seed)
    g = sg.Graph("tree")

    def leaf(tile: sg.Tile) -> Stream:
        return g.input(f"in{len(g.inputs)}", tile, (TILES,))

    def tree(depth: int) -> Stream:
        if depth == 0:
            return leaf(TILE)
        x = tree(depth - 1)
        assert isinstance(x.dtype, sg.Tile)
        element = x.dtype.element
        if element == sg.bool_ or rng.random() < 0.3:
            kinds: tuple[Any, ...] = ("int8", "int32", "bf16", "f32")
            return x.map(sg.fn.convert(kinds[rng.integers(4)]))
        y = leaf(sg.Tile(int(rng.choice([1, ROWS])), int(rng.choice([1, COLUMNS])), element))
        if rng.random() < 0.3:
            y = y.map(sg.fn.at_least(0))
        if rng.random() < 0.2:
            return x.map(sg.fn.compare("lt"), y)
        fn = (sg.fn.sub(), sg.fn.mul(), sg.fn.maximum())[rng.integers(3)]
        made = x.map(fn, y) if rng.random() < 0.5 else y.map(fn, x)
        return made if rng.random() < 0.7 else made.map(sg.fn.mul(), made)

    g.output(tree(int(rng.integers(2, 6))), "y")
    return g


def pcus(design: Design) -> int:
    return len(list(design.of_kind(Pcu)))


@pytest.mark.parametrize("seed", some_slow(range(12), 2))
def test_fused_and_unfused_designs_are_exact(seed: int) -> None:
    """Reference, cycle model and circuit agree, and so both designs give the same bits."""
    graph = drawn(seed)
    inputs = complete(graph, {}, seed=seed)
    units = []
    for fuse in (True, False):
        stalls = Stalls(seed, dict.fromkeys([*graph.inputs, "y"], 0.3 * (seed % 2)))
        one = Experiment(graph, inputs, lanes=LANES, fuse=fuse, stalls=stalls)
        expected = {"y": one.reference.beats("y", LANES)}
        check(one.design, one.beats, expected, stalls)
        units.append(pcus(one.design))
    assert units[0] < units[1] == sum(node.op == "map" for node in graph.nodes)


def test_drawn_programs_have_all_that_matters() -> None:
    names, spread = set(), set()
    for seed in range(12):
        for _, params in lower(drawn(seed), lanes=LANES).rows_of(Pcu):
            spread |= {how for how in params.broadcast if len(params.operations) > 1}
            names |= {o.name for o in params.operations if len(params.operations) > 1}
    assert spread == {"", "rows", "cols", "both"}
    assert {"convert", "subtract", "multiply", "maximum", "lt"} <= names


def around(middle: Callable[[sg.Graph, Stream], Stream]) -> Design:
    """Two functions with something between them."""
    g = sg.Graph("between")
    x = g.input("x", TILE, (TILES,)).map(sg.fn.at_least(0), name="first")
    g.output(middle(g, x).map(sg.fn.offset(1), name="last"), "y")
    return lower(g, lanes=LANES)


def tapped(g: sg.Graph, x: Stream) -> Stream:
    g.output(x, "tap")
    return x


def twice(g: sg.Graph, x: Stream) -> Stream:
    return x.map(sg.fn.add(), x, name="sum")


@pytest.mark.parametrize(
    ("between", "fused"),
    [
        (lambda _, x: x, {"first": "last"}),
        (lambda _, x: x.map(sg.fn.square()), {"first": "last", "map_0": "last"}),
        (tapped, {"last": "first_fork"}),
        (twice, {"sum": "last"}),
        (lambda _, x: x.fifo(8), {}),
        (
            lambda _, x: x.promote(0).flatten(0, 1),
            {"promote_0": "first", "flatten_0": "first", "last": "first"},
        ),
        (lambda _, x: x.map(sg.fn.row_sum()), {"last": "map_0"}),
    ],
)
def test_what_is_fused(between: Any, fused: dict[str, str]) -> None:
    design = around(between)
    assert design.fused == fused
    assert not design.fused.keys() & {u.name for u in design.units}
    appended = {u.outputs[u.epilogue.port] for u in design.units if u.epilogue}
    assert design.fused.keys() & design.channel.keys() == appended & {"last"}
    assert Design.from_json(design.to_json()) == design


def routed(g: sg.Graph, x: Stream) -> Stream:
    kept, x = sg.partition(x, g.input("to", sg.Selector(2), (TILES,)), rank=0)
    g.output(kept, "kept")
    return x


MAKERS: dict[str, Callable[[sg.Graph, Stream], Stream]] = {
    "matmul": lambda g, x: x.map(
        sg.fn.matmul(), g.input("w", sg.Tile(COLUMNS, 3, sg.int8), (TILES,))
    ),
    "matvec": lambda g, x: x.flat_map(sg.fn.retile_streamify("row"), rank=0).map(
        sg.fn.matmul(), g.input("w", sg.Tile(COLUMNS, 3, sg.int8), (TILES * ROWS,))
    ),
    "reduce_rows": lambda g, x: x.map(sg.fn.row_sum()),
    "accumulate": lambda g, x: x.promote(0).accum(sg.fn.add(), rank=1),
    "expand": lambda g, x: x.promote(0).expand(count=2),
    "promote": lambda g, x: x.promote(0),
    "pmu": lambda g, x: x.promote(0).bufferize(rank=1).streamify(x.promote(0)),
    "partition": routed,
    "mask": lambda g, x: x.map(sg.fn.mask_cols(-1), g.input("n", sg.address[1, 1], (TILES,))),
}
"""What writes the operand of a function, by the kind of its unit."""


OF_OWN_COLUMNS = ("matmul", "matvec")
"""Those that make tiles of other columns than they take."""


@pytest.mark.parametrize(
    ("kind", "columns"),
    [*((kind, COLUMNS) for kind in MAKERS), *((k, 1) for k in MAKERS if k not in OF_OWN_COLUMNS)],
)
def test_an_epilogue_is_exact(kind: str, columns: int) -> None:
    """Behind a unit of any kind, with stalls, as a unit of its own would compute it."""
    g = sg.Graph("epilogue")
    x = g.input("x", sg.Tile(ROWS, columns, sg.int8), (TILES,))
    made = MAKERS[kind](g, x)
    assert isinstance(made.dtype, sg.Tile)
    if made.dtype.element == sg.int8:
        made = made.map(sg.fn.convert(sg.bf16), name="tail")
    else:
        made = made.map(sg.fn.requantize(3, 2, sg.int8), name="tail")
    g.output(made.map(sg.fn.at_least(0)), "y")
    inputs = complete(g, {}, seed=3)
    stalls = Stalls(5, dict.fromkeys([*g.inputs, "y"], 0.3))
    one = Experiment(g, inputs, lanes=LANES, stalls=stalls)
    check(one.design, one.beats, {"y": one.reference.beats("y", LANES)}, stalls)
    assert [unit.kind for unit in one.design.units if unit.epilogue] == [kind]
    assert Design.from_json(one.design.to_json()) == one.design


@pytest.mark.parametrize(("tail", "kind"), one_seed_each((False, True), MAKERS))
def test_rewritten_stops_are_exact(kind: str, tail: bool) -> None:
    """Behind a unit of any kind, and behind its epilogue, with stalls and empty tiles."""
    g = sg.Graph("restops")
    x = g.input("x", sg.Tile(ROWS, COLUMNS, sg.int8), (TILES,))
    made = MAKERS[kind](g, x)
    assert isinstance(made.dtype, sg.Tile)
    made = made.promote(0, name="one").promote(0, name="two").flatten(0, 1, name="three")
    if tail:
        made = made.map(sg.fn.at_least(0), name="tail")
    g.output(made.promote(1, name="last"), "y")
    inputs = complete(g, {}, seed=3)
    stalls = Stalls(5, dict.fromkeys([*g.inputs, "y"], 0.3))
    one = Experiment(g, inputs, lanes=LANES, stalls=stalls)
    check(one.design, one.beats, {"y": one.reference.beats("y", LANES)}, stalls)
    assert {"one", "two", "three", "last"} <= one.design.fused.keys()
    assert one.design.fused["one"] == one.design.fused["last"]
    assert kind in {unit.kind for unit in one.design.units if unit.restops}
    assert Design.from_json(one.design.to_json()) == one.design


@pytest.mark.parametrize(("above", "held"), [(0, False), (1, True)])
@pytest.mark.parametrize("seed", some_slow(range(8), 2))
def test_dims_flattened_one_after_the_other_are_flattened_at_once(
    seed: int, above: int, held: bool
) -> None:
    """Groups of every level may be empty; a beat is held only below dims that stay."""
    rng = np.random.default_rng(seed)
    names = [sg.dynamic("N", bound=3), *(sg.ragged(x, bound=3) for x in "ABC"[: 2 + above])]
    g = sg.Graph("flat")
    x = g.input("x", TILE, names)
    inner = x.flatten(0, 1, name="inner") if seed % 2 else x.flatten(1, 2, name="inner")
    g.output(inner.flatten(0, 1, name="outer").promote(1), "y")

    def groups(depth: int) -> Any:
        if depth == 0:
            return rng.integers(-9, 9, (ROWS, COLUMNS), dtype=np.int8)
        return [groups(depth - 1) for _ in range(rng.integers(0, 4))]

    stalls = Stalls(seed, {"x": 0.3, "y": 0.3})
    one = Experiment(g, {"x": groups(len(names))}, lanes=LANES, stalls=stalls)
    check(one.design, one.beats, {"y": one.reference.beats("y", LANES)}, stalls)
    assert one.design.fused["inner"] == "outer"
    (unit,) = one.design.of_kind(Flatten)
    assert unit.params.hold == held


@pytest.mark.parametrize("seed", some_slow(range(8), 2))
def test_a_promoted_stream_goes_to_all_that_use_it(seed: int) -> None:
    """Without a FIFO between a Promote and a fork; what rewrites stops is there for each branch."""
    rng = np.random.default_rng(seed)
    g = sg.Graph("branches")
    x = g.input("x", TILE, [sg.dynamic("N", bound=5)]).promote(name="one").promote(0, name="two")
    for n, y in enumerate((x, x.promote(1, name="three"), x.map(sg.fn.square()))):
        g.output(y, f"y{n}")
    rows = rng.integers(-9, 9, (seed % 5, ROWS, COLUMNS), dtype=np.int8)
    stalls = Stalls(seed, {name: 0.3 for name in ("x", "y0", "y1", "y2")})
    one = Experiment(g, {"x": list(rows)}, lanes=LANES, stalls=stalls)
    expected = {f"y{n}": one.reference.beats(f"y{n}", LANES) for n in range(3)}
    check(one.design, one.beats, expected, stalls)
    (unit,) = one.design.of_kind(Promote)
    assert unit.params.branches == 3
    assert not [*one.design.of_kind(Fork)]
    assert one.design.fused["three"] == "one"
    assert Design.from_json(one.design.to_json()) == one.design


def test_rewritten_stops_of_a_file_are_checked() -> None:
    """Of a table that contradicts itself."""
    g = sg.Graph("restops")
    x = g.input("x", sg.Tile(ROWS, COLUMNS, sg.int8), (TILES,))
    g.output(x.map(sg.fn.square(), name="unit").promote(0), "y")
    design = lower(g, lanes=LANES)
    (unit,) = (unit for unit in design.units if unit.restops)
    (restop,) = unit.restops
    for change, said in (
        ({"port": "z"}, "unit rewrites stops of z, which is not an output"),
        ({"rank": 7}, "unit makes stops of rank 8 at y, but promote_0 has 3"),
        ({"params": unit.params}, "unit can't rewrite stops of y as a pcu at rank 2"),
    ):
        wrong = replace(unit, restops=(replace(restop, **change),))
        with pytest.raises(StepError, match=said):
            replace(design, units=[wrong if u is unit else u for u in design.units])


def test_columns_take_one_lane() -> None:
    """Of a pipeline, of a state, and of the FIFOs."""
    g = sg.Graph("columns")
    x = g.input("x", sg.Tile(ROWS, 1, sg.int8), (TILES, 2))
    y = x.map(sg.fn.square()).accum(sg.fn.add(), rank=1)
    g.output(y.map(sg.fn.mul(), y), "y")
    inputs = complete(g, {}, seed=1)
    one = Experiment(g, inputs, lanes=4)
    check(one.design, one.beats, {"y": one.reference.beats("y", 4)})
    widths = {c.name: c.stored.lanes for c in one.design.channels}
    assert set(widths.values()) == {1}
    lanes = {u.params.beat_lanes(4) for u in one.design.units if u.kind in ("pcu", "accumulate")}
    assert lanes == {1}


def test_a_row_that_is_broadcast_is_computed_once_per_tile() -> None:
    """Its function stays a unit of its own: fused it would be computed for every row."""
    g = sg.Graph("bias")
    x, b = g.input("x", TILE, (TILES,)), g.input("b", sg.Tile(1, COLUMNS, sg.int8), (TILES,))
    g.output(x.map(sg.fn.add(), b.map(sg.fn.at_least(0), name="row")), "y")
    assert not lower(g, lanes=LANES).fused


def test_a_depth_that_is_asked_for_keeps_its_fifo() -> None:
    g = sg.Graph("asked")
    x = g.input("x", TILE, (TILES,)).map(sg.fn.at_least(0), name="first")
    g.output(x.map(sg.fn.offset(1)), "y")
    assert lower(g, lanes=LANES).fused
    design = lower(g, lanes=LANES, depths={"first": 9})
    assert not design.fused
    assert design.channel["first"].depth == 9


def test_a_result_per_cycle_behind_a_long_pipeline() -> None:
    g = sg.Graph("long")
    y = x = g.input("x", sg.Tile(ROWS, COLUMNS, sg.f32), (TILES,))
    for _ in range(4):
        y = y.map(sg.fn.add(), g.input(f"in{len(g.inputs)}", x.dtype, (TILES,)))
    g.output(y, "y")
    one = Experiment(g, complete(g, {}), lanes=LANES)
    (unit,) = one.design.of_kind(Pcu)
    pushes = one.prediction.pushes[unit.name]
    assert np.diff(pushes).tolist() == [1] * (TILES * ROWS * 3)


def test_a_function_that_gives_its_first_operand_is_not_joined_at_another() -> None:
    square = Pcu(("int8",), (Operation("multiply", (0, 0), "int32"),))
    first = Pcu(("int32", "int32"), ())
    assert joined(first, 1, square) is None
    assert joined(first, 0, square) == Pcu(("int8", "int32"), square.operations)
