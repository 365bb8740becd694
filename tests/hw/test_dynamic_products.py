"""Products with weight tiles of dynamic rows and columns, those of f32, and functions of rows."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from drawn import Draw, floats
from harness import check, simulate
from seeds import others_slow

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.hw.design.registers import TOO_LARGE, detail_of
from stepgen.hw.units.sink.params import Sink
from stepgen.hw.units.source.params import Source
from stepgen.ir.stalls import Stalls
from stepgen.semantics import executor, numbers
from stepgen.semantics.beats import to_beats
from stepgen.semantics.inputs import to_tokens
from stepgen.timing.model import Fault, predict

MOST = 9
USES = ("map", "accum", "scan")


def matrices(draw: Draw, sizes: Any, element: sg.ElementType) -> Any:
    """A drawn matrix for each size of nested lists."""
    if isinstance(sizes, list):
        return [matrices(draw, one, element) for one in sizes]
    if element == sg.bf16:
        return floats(draw, sizes)
    if element == sg.f32:
        some = floats(draw, sizes).astype(float) * draw.rng.uniform(1, 2, sizes)
        with np.errstate(over="ignore"):
            return np.where(draw.rng.random(sizes) < 0.2, -0.0, some).astype(np.float32)
    low, high = numbers.lowest(element.name), numbers.highest(element.name)
    return draw.rng.integers(low, high + 1, sizes).astype(element.name)


def compare(seed: int, graph: sg.Graph, inputs: dict[str, Any], lanes: int) -> None:
    """Compare reference, cycle model and circuit."""
    draw = Draw(seed)
    design = lower(graph, lanes=lanes, fuse=seed % 2 > 0)
    some = {c.name: c.depth + draw.one((0, 1, 40)) for c in design.channels if draw.one((0, 1))}
    design = design.with_depths(some)
    types = {n.name: n.outputs[0].type for n in graph.nodes if n.op == "source"}
    beats = {
        name: to_beats(to_tokens(inputs[name], type, name), type, lanes, padding=draw.rng)
        for name, type in types.items()
    }
    ports = [u.name for kind in (Source, Sink) for u in design.of_kind(kind)]
    stalls = Stalls(seed, {name: draw.one((0.0, 0.0, 0.3, 0.7)) for name in ports})
    reference = executor.run(graph, inputs, lanes=lanes)
    expected = {u.name: reference.beats(u.name, lanes) for u in design.of_kind(Sink)}
    cycles = predict(design, beats, stalls=stalls).cycles
    check(design, beats, expected, stalls, aborts=[int(draw.rng.integers(cycles))])


def dims_of(draw: Draw, dynamic: str) -> tuple[Any, Any]:
    """K and N of weight tiles."""
    k, n = (draw.one((1, 3, 4, 7)) for _ in range(2))
    return (
        sg.ragged("K", bound=MOST, positive=True) if "k" in dynamic else k,
        sg.ragged("N", bound=MOST, positive=True) if "n" in dynamic else n,
    )


def extent(draw: Draw, dim: Any) -> int:
    return dim if isinstance(dim, int) else draw.one((1, 2, 4, 5, MOST))


KINDS = [
    *product((sg.int8, sg.bf16), ("k", "n", "kn"), USES),
    *product((sg.f32,), ("", "k", "n"), USES),
]
QUICK = [
    *((0, sg.int8, dynamic, use) for dynamic, use in product(("k", "n", "kn"), USES)),
    *((0, sg.bf16, "k", "accum"), (0, sg.bf16, "n", "scan"), (0, sg.bf16, "kn", "map")),
    (9, sg.f32, "n", "map"),
]


@pytest.mark.parametrize(
    ("seed", "element", "dynamic", "use"),
    others_slow([(seed, *kind) for seed, kind in product(range(12), KINDS)], QUICK),
    ids=str,
)
def test_products_of_dynamic_tiles(seed: int, dynamic: str, element: sg.ElementType, use: str):
    """In Accum and Scan the tiles of a chunk have one size of the result."""
    draw = Draw(seed)
    lanes, transpose = draw.one((1, 2, 4)), bool(seed % 2)
    k, n = dims_of(draw, dynamic)
    if use != "map" and "n" in dynamic:
        n = sg.dynamic("N", bound=MOST, positive=True)
    rows = draw.one((1, 3))
    chunks = draw.one((1, 2, 3)) if use != "map" else 0
    g = sg.Graph("dynamic")
    shape = (4, chunks) if chunks else (4,)
    x = g.input("x", sg.Tile(rows, k, element), shape)
    w = g.input("w", sg.Tile(n, k, element) if transpose else sg.Tile(k, n, element), shape)
    product = sg.fn.matmul(transpose=transpose)
    if use == "map":
        if element == sg.f32 and "n" not in dynamic:
            start = g.input("b", sg.Tile(1, n, sg.f32), shape)
            y = x.map(sg.fn.matmul_add(transpose=transpose), w, start)
        else:
            y = x.map(product, w)
    elif use == "accum":
        y = x.accum(product, w, rank=1, init=draw.one((None, -3)))
    else:
        y = x.scan(product, w, rank=1, init=draw.one((None, -3)))
    g.output(y, "y")

    every_n = extent(draw, n)
    ks = [[extent(draw, k) for _ in range(max(1, chunks))] for _ in range(4)]
    ns = [[every_n if chunks else extent(draw, n) for _ in one] for one in ks]
    of_x = [[(rows, a) for a in one] for one in ks]
    of_w = [
        [(b, a) if transpose else (a, b) for a, b in zip(*two, strict=True)]
        for two in zip(ks, ns, strict=True)
    ]
    if not chunks:
        of_x, of_w = ([one for (one,) in sizes] for sizes in (of_x, of_w))
    inputs = {"x": matrices(draw, of_x, element), "w": matrices(draw, of_w, element)}
    if "b" in g.inputs:
        inputs["b"] = matrices(draw, [(1, n)] * 4, element)
    compare(seed, g, inputs, lanes)


@pytest.mark.parametrize("most", [64, 140])
def test_rows_of_one_slice_follow_each_other_in_a_memory_for_long_ones(most: int):
    """The next row comes while the last slice of one is read; above 128 from block RAM."""
    draw, sizes, rows, n = Draw(most), (3, 4, 1, 9, 4), 5, 12
    g = sg.Graph("short")
    k = sg.ragged("K", bound=most, positive=True)
    x = g.input("x", sg.Tile(rows, k, sg.int8), (len(sizes),))
    w = g.input("w", sg.Tile(k, n, sg.int8), (len(sizes),))
    g.output(x.map(sg.fn.matmul(), w), "y")
    inputs = {
        "x": matrices(draw, [(rows, size) for size in sizes], sg.int8),
        "w": matrices(draw, [(size, n) for size in sizes], sg.int8),
    }
    compare(1, g, inputs, 4)


@pytest.mark.parametrize("seed", others_slow(range(8), (3,)))
def test_functions_of_rows_of_any_length(seed: int):
    """Of two streams, of one column and of one element, fused and apart, and reduced."""
    draw = Draw(seed)
    lanes, rows = draw.one((1, 2, 4)), draw.one((1, 2, 3))
    cols = sg.ragged("N", bound=MOST, positive=True)
    g = sg.Graph("rows")
    x, z = (g.input(name, sg.Tile(rows, cols, sg.f32), (5,)) for name in "xz")
    column = g.input("c", sg.f32[rows, 1], (5,))
    one = g.input("o", sg.f32[1, 1], (5,))
    made = x.map(sg.fn.add(), z).map(sg.fn.mul(), column).map(sg.fn.scale(0.5))
    made = one.map(sg.fn.maximum(), made)
    g.output(made, "y")
    g.output(made.map(sg.fn.row_sum()), "sums")
    g.output(made.map(sg.fn.row_max()).promote(0), "most")
    sizes = [draw.one((1, 2, 4, 5, 8, MOST)) for _ in range(5)]
    inputs = {name: [floats(draw, (rows, n)).astype(np.float32) for n in sizes] for name in "xz"}
    inputs["c"], inputs["o"] = (draw.rng.normal(size=(5, r, 1)) for r in (rows, 1))
    compare(seed, g, inputs, lanes)


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_a_tile_larger_than_the_memory(seed: int, transpose: bool):
    """The error and the size, exact to the cycle, in reference, model and circuit."""
    draw = Draw(seed)
    lanes, most, size = draw.one((1, 2, 4)), 3, draw.one((4, 5, 30))
    g = sg.Graph("large")
    n, count = sg.ragged("N", positive=True), sg.dynamic("B", bound=3)
    x = g.input("x", sg.int8[2, 4], (count,))
    w = g.input("w", sg.Tile(n, 4, sg.int8) if transpose else sg.Tile(4, n, sg.int8), (count,))
    g.output(x.map(sg.fn.matmul(transpose=transpose, most=most), w, name="scores"), "y")
    sizes = [(n, 4) if transpose else (4, n) for n in (2, size, 3)]
    inputs = {"x": np.ones((3, 2, 4), np.int8), "w": matrices(draw, sizes, sg.int8)}
    what = "rows" if transpose else "columns"
    said = f"gets a tile of weights of {size} {what}, and has memory for {most}"
    with pytest.raises(sg.StepError, match=said):
        executor.run(g, inputs, lanes=lanes)
    design = lower(g, lanes=lanes)
    types = {n.name: n.outputs[0].type for n in g.nodes if n.op == "source"}
    beats = {
        name: to_beats(to_tokens(inputs[name], type, name), type, lanes)
        for name, type in types.items()
    }
    stalls = Stalls(seed, {"x": 0.2, "w": draw.one((0.0, 0.5))})
    with pytest.raises(Fault, match=f"scores {said}") as raised:
        predict(design, beats, stalls=stalls)
    fault = raised.value
    assert fault.detail == detail_of(TOO_LARGE, size)
    seen: list[Any] = []
    aborts = [fault.stopped.cycles + 20]
    ends = {name: to_beats(to_tokens([], type, name), type, lanes) for name, type in types.items()}
    *_, error = simulate(design, ends, stalls, aborts=aborts, first=beats, seen=seen)
    assert not error
    (_, flags, detail), kinds = seen[0], [unit.params.kind for unit in design.units]
    assert flags == 1 << kinds.index("limit") == 1 << fault.code - 1
    assert detail == fault.detail
