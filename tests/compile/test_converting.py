"""Streams in another order: the reference, the memory that was promised, and circuits."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepgen as sg
from stepgen.compile.converting import convert_order, ways
from stepgen.compile.cost import unit_bits
from stepgen.compile.lower import lower
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment
from stepgen.ir.itensor import Itensor
from stepgen.semantics.executor import run

SHAPE = (8, 12)
DATA = np.arange(96, dtype=np.int32).reshape(SHAPE)


def drawn(rng: random.Random, tiles: Any = ((1, 2, 4, 8), (1, 2, 3, 4, 6, 12))) -> Itensor:
    """Exact tiles of the tensor in any order, often repeated."""
    tile = tuple(rng.choice(t) for t in tiles)
    dims = [0, 1]
    rng.shuffle(dims)
    loops = [(SHAPE[d] // tile[d], tile[d]) for d in dims]
    walks = [dims.index(0), dims.index(1)]
    if rng.random() < 0.4:
        place = rng.randint(0, 2)
        loops.insert(place, (rng.choice([2, 3]), 1))
        walks = [i + (i >= place) for i in walks]
    return Itensor(tile, "int32", loops, [(i,) for i in walks])


def program(source: Itensor, target: Itensor) -> tuple[sg.Graph, sg.Stream]:
    graph = sg.Graph()
    x = sg.linear_offchip_load(graph.tensor("w", SHAPE, "int32"), itensor=source)
    y = convert_order(x, target)
    graph.output(y, "y")
    return graph, y


def flat(value: Any) -> list[np.ndarray]:
    return [t for v in value for t in flat(v)] if isinstance(value, list) else [np.asarray(value)]


def test_tiles_that_came_twice_pass_two_buffers() -> None:
    """Tiles of three columns each twice, as tiles of two columns each twice."""
    source = Itensor((8, 3), "int32", ((4, 3), (2, 1)), ((), (0,)))
    target = Itensor((8, 2), "int32", ((6, 2), (2, 1)), ((), (0,)))
    graph, _ = program(source, target)
    found = flat(run(graph, {"w": DATA}).nested("y"))
    want = [DATA[:, c : c + 2] for _, c in target.offsets()]
    assert all((p == q).all() for p, q in zip(found, want, strict=True))
    (way,) = ways(graph.nodes[0].outputs[0], target)
    assert way.why.count(" and then ") == 1


@pytest.mark.parametrize("count", [25, pytest.param(1000, marks=pytest.mark.slow)])
def test_drawn_pairs_come_in_the_order_that_is_asked_for(count: int) -> None:
    rng, seen = random.Random(count), set()
    for _ in range(count):
        a, b = drawn(rng), drawn(rng)
        graph, y = program(a, b)
        (rows, cols), found = b.tile, flat(run(graph, {"w": DATA}).nested("y"))
        want = [DATA[r : r + rows, c : c + cols] for r, c in b.offsets()]
        assert len(found) == len(want)
        assert all((p == q).all() for p, q in zip(found, want, strict=True)), (str(a), str(b))
        assert y.itensor == b
        seen.add(ways(graph.nodes[0].outputs[0], b)[0].name)
    assert {"buffer", "new tiles"} <= seen


def by(tile: tuple[int, int], outer: int, shape: tuple[int, int] = (64, 64)) -> Itensor:
    """Tiles of an int8 matrix, with the loop over rows (0) or columns (1) outside."""
    loops = [(shape[d] // tile[d], tile[d]) for d in (outer, 1 - outer)]
    return Itensor(tile, "int8", loops, [(outer,), (1 - outer,)])


AGAIN = Itensor((16, 16), "int8", ((4, 16), (4, 1), (4, 16)), ((0,), (2,)))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (by((16, 16), 0), AGAIN),
        (by((16, 16), 0), by((16, 16), 1)),
        (by((16, 16), 0), by((32, 16), 0)),
        (by((8, 16), 0), by((32, 16), 1)),
    ],
)
def test_memory_is_what_was_promised(source: Itensor, target: Itensor) -> None:
    graph = sg.Graph()
    x = sg.linear_offchip_load(graph.tensor("w", (64, 64), "int8"), itensor=source)
    (way,) = ways(x, target)
    graph.output(way.make(), "y")
    design = lower(graph, lanes=16)
    held = sum(unit_bits(unit, design) for unit in design.units if unit.kind == "pmu")
    assert way.bits <= held <= 1.02 * way.bits


def test_rows_need_no_memory() -> None:
    graph = sg.Graph()
    x = sg.linear_offchip_load(graph.tensor("w", (64, 64), "int8"), itensor=by((16, 64), 0))
    for rows in (4, 32, 64):
        y = convert_order(x, by((rows, 64), 0), budget=0)
        assert y.itensor == by((rows, 64), 0)
    assert convert_order(x, by((16, 64), 0)) == x


def test_a_budget_below_the_smallest_buffer() -> None:
    graph = sg.Graph()
    x = sg.linear_offchip_load(graph.tensor("w", (64, 64), "int8"), itensor=by((16, 16), 0))
    whole = 64 * 64 * 8
    message = (
        r"convert_order at test_converting.py:\d+: linear_offchip_load_0.0 comes as itensor<16x16.*"
        rf"and as itensor<16x16.* at least {whole} bits on chip, more than the {whole - 1} of the"
    )
    with pytest.raises(sg.StepError, match=message):
        convert_order(x, by((16, 16), 1), budget=whole - 1)
    graph.output(x, "x")  # which reads the tensor anyway
    assert [way.name for way in ways(x, by((16, 16), 1))] == ["buffer", "read again"]
    y = convert_order(x, by((16, 16), 1), budget=whole - 1)
    assert y.node.op == "linear_offchip_load"
    assert convert_order(x, by((16, 16), 1), budget=whole).node.op != "linear_offchip_load"


def test_mistakes() -> None:
    graph = sg.Graph()
    x = graph.input("x", sg.int8[16, 16], (4, 4))
    with pytest.raises(
        sg.StepError, match=r"converter at .*: .* not itensor<1x1x16x16xint8.*64x64"
    ):
        convert_order(x, Itensor((64, 64), "int8", (), ((), ())))
    y = convert_order(x, by((16, 16), 1), of=by((16, 16), 0))
    assert [d.static for d in y.shape] == [4, 4]
    with pytest.raises(sg.StepError, match=r"x.0 has 16 tiles and not the 4 of itensor<16x64"):
        convert_order(x, by((16, 16), 1), of=by((16, 64), 0))
    z = graph.input("z", sg.int8[16, 16], ("T", 4))
    with pytest.raises(sg.StepError, match=r"the dims of z.0, .*, must be static"):
        convert_order(z, by((16, 16), 1), of=by((16, 16), 0))


PAIRS = [(by((2, 4), 0, SHAPE), by((4, 6), 1, SHAPE)), (by((2, 6), 0, SHAPE), by((2, 6), 1, SHAPE))]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_circuits(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    source, target = PAIRS[seed] if seed < len(PAIRS) else (drawn(rng), drawn(rng))
    source, target = (Itensor(t.tile, "int32", t.loops, t.map) for t in (source, target))
    graph, _ = program(source, target)
    experiment = Experiment(graph, {"w": DATA}, lanes=4)
    verdict = experiment.test(tmp_path, driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults
