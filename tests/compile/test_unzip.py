"""Streams of tuples on the wire: a stream for each item."""

from __future__ import annotations

import numpy as np
import pytest

import stepgen as sg
from stepgen.compile.cost import hardware
from stepgen.compile.lower import lower
from stepgen.compile.unzip import unzipped
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment
from stepgen.emit.interface import interface
from stepgen.ir.stalls import Stalls

TILE = sg.int8[2, 8]


def pairs(g: sg.Graph) -> sg.Stream:
    """Inputs a and b as one stream."""
    return g.input("a", TILE, (5,)).zip(g.input("b", TILE, (5,)))


def routed(g: sg.Graph) -> list[sg.Stream]:
    """Pairs for one consumer or the other."""
    return sg.partition(pairs(g), g.input("sel", sg.Selector(2), (5,)), rank=0)


@pytest.mark.slow
def test_items_of_tuples_take_the_same_way(tmp_path):
    """Routed, merged and regrouped; in the end they are operands of one function."""
    g, rng = sg.Graph("pairs"), np.random.default_rng(1)
    left, right = routed(g)
    g.output(left.map(sg.fn.add()), "sums")
    merged = sg.reassemble([left, right], g.ports["sel"], rank=0, order="index")
    g.output(merged.flatten(0, 1).map(sg.fn.sub()), "differences")
    w = g.input("w", sg.int8[8, 8], (5,))
    one, other = g.ports["a"].zip(w).promote(0).expand(count=2).fork(2)
    g.output(one.accum(sg.fn.matmul(), rank=1), "products")
    g.output(other.reshape(dim=1, chunk=1).map(sg.fn.matmul()), "each")
    inputs = {
        "sel": [[1, 0], [0, 1], [1, 1], [0, 1], [1, 0]],
        **{name: rng.integers(-99, 99, (5, 2, 8)).astype(np.int8) for name in "ab"},
        "w": rng.integers(-99, 99, (5, 8, 8)).astype(np.int8),
    }
    one = Experiment(g, inputs, lanes=4, stalls=Stalls(2, {"s_a": 0.3, "d_sums": 0.3}))
    verdict = one.test(tmp_path, driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults


@pytest.mark.slow
def test_items_have_ports_of_their_own(tmp_path):
    """Nested tuples come in, move as one, are taken apart and leave; selectors among them route."""
    g, rng = sg.Graph("ports"), np.random.default_rng(2)
    inner = sg.TupleType((sg.bf16[1, 4], sg.Selector(2)))
    x = g.input("x", sg.TupleType((TILE, inner, sg.FLAG)), (3, 2))
    assert [*g.inputs] == ["x_0", "x_1_0", "x_1_1", "x_2"]
    g.output(x.promote(0).expand(count=2), "twice")
    tile, both, flag = x.unzip()
    row, sel = both.unzip()
    g.output(sg.zip(row, flag.map(sg.fn.convert(sg.int8)), sel), "three")
    for n, part in enumerate(sg.partition(tile.zip(row), sel, rank=0)):
        g.output(part, f"part{n}")
    # Chunks of several tiles, of which the second items follow the selectors of the first.
    chunks = sg.partition(tile.zip(row, flag), g.input("to", sg.Selector(2), (3,)), rank=1)
    merged, names = sg.eager_merge(chunks, rank=1)
    g.output(merged, "merged")
    g.output(names, "names")
    inputs = {
        "to": [[1, 1], [0, 1], [1, 1]],
        "x_0": rng.integers(-99, 99, (3, 2, 2, 8)).astype(np.int8),
        "x_1_0": rng.normal(size=(3, 2, 1, 4)),
        "x_1_1": rng.random((3, 2, 2)) < 0.5,
        "x_2": rng.random((3, 2, 1, 1)) < 0.5,
    }
    one = Experiment(
        g, inputs, lanes=4, stalls=Stalls(3, {"x_1_0": 0.4, "part1_0": 0.4, "merged_1": 0.6})
    )
    assert "twice_1_1" in [port.name for port in interface(one.design).sinks]
    verdict = one.test(tmp_path, driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults


def test_units_name_the_operator_that_they_are_of():
    """Also where a stream has the name that a second unit would have."""
    g = sg.Graph("names")
    scale, shift = g.input("scale", sg.int32[1, 8], (5,)), g.input("shift", sg.int8[1, 8], (5,))
    x = g.input("partition_0_1", sg.int32[2, 8], (5,)).zip(scale.zip(shift))
    parts = sg.partition(x, g.input("sel", sg.Selector(2), (5,)), rank=0)
    for n, part in enumerate(parts):
        g.output(part.map(sg.fn.requantize_by()), f"y{n}")
    design = lower(g)
    made = [u.origin for u in design.units if u.kind == "partition"]
    assert made == ["partition_0"] * 3
    assert {u.name: u.origin for u in design.units}["partition_0_1"] == "partition_0_1"
    assert hardware(g, design).memory > 0


def test_depths_that_a_zip_asks_for_are_those_of_its_reader():
    g = sg.Graph("deep")
    a, b = (g.input(name, TILE, (5,)) for name in "ab")
    g.output(a.fifo(40).zip(b).map(sg.fn.add()), "y")
    depth = {c.name: c.depth for c in lower(g).channels}
    assert depth["a"] == 40
    assert depth["b"] < 40


def test_a_program_without_tuples_stays_as_it_is():
    g = sg.Graph("plain")
    g.output(g.input("a", TILE, (5,)), "y")
    assert unzipped(g) == (g, {})


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (
            lambda g: g.output(
                sg.reassemble(routed(g), g.ports["sel"], rank=0, order="arrival")
                .flatten(0, 1)
                .map(sg.fn.add()),
                "y",
            ),
            r'reassemble reassemble_0 at .*one by one, and each could .*: use order="index"',
        ),
    ],
)
def test_where_tuples_can_not_be(write, message):
    g = sg.Graph("refused")
    write(g)
    with pytest.raises(sg.StepError, match=message):
        lower(g)
