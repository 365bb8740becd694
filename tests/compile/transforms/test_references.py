"""Rows that are stored once, and references to them routed."""

from __future__ import annotations

import numpy as np
import pytest
from same import ROUTINGS, check_same, draw_routing, small_moe

import stepgen as sg
from examples import moe as sg_moe
from stepgen.compile.cost import on_chip_bits
from stepgen.compile.lower import lower
from stepgen.compile.transforms import capped_tiling, row_references
from stepgen.hw.units.pmu.params import Pmu
from stepgen.semantics.executor import run

CHOSEN = {**ROUTINGS, **{f"drawn {seed}": draw_routing(seed) for seed in range(4)}}


@pytest.mark.parametrize("tiling", ["static", "dynamic", "capped"])
@pytest.mark.parametrize("routing", CHOSEN)
def test_rows_become_references(routing, tiling):
    old, inputs = small_moe(CHOSEN[routing], "dynamic" if tiling == "capped" else tiling)
    old = capped_tiling(old, rows=2).graph if tiling == "capped" else old
    new = row_references(old)
    assert [n.op for n in new.graph.nodes if n.op == "bufferize"] == ["bufferize"]
    check_same(old, new, inputs)


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_chunks_of_any_rank(rank):
    def program() -> sg.Graph:
        g = sg.Graph("routed")
        x = g.input("x", sg.int8[2, 4], (4, 2, 3))
        sel = g.input("sel", sg.Selector(3), (4, 2, 3)[: 3 - rank])
        for n, part in enumerate(sg.partition(x, sel, rank=rank, name="route")):
            g.output(part, f"y{n}")
        return g

    rng = np.random.default_rng(rank)
    inputs = {
        "x": rng.integers(-9, 9, (4, 2, 3, 2, 4)).astype(np.int8),
        "sel": rng.random((*(4, 2, 3)[: 3 - rank], 3)) < 0.5,
    }
    old, new = program(), row_references(program(), partition="route").graph
    before, after = run(old, inputs), run(new, inputs)
    for name in old.outputs:
        assert str(new.outputs[name]) == str(old.outputs[name])
        one, other = (r.beats(name, 2) for r in (before, after))
        assert np.array_equal(one.data, other.data)
        assert np.array_equal(one.stop, other.stop)


def test_a_row_is_stored_once_and_not_for_each_expert():
    (rows, _), (references, _) = (
        sg_moe.moe(tokens=32, width=32, hidden=64, tiling="capped", references=how)
        for how in (False, True)
    )
    few, many = (on_chip_bits(lower(g)) for g in (references, rows))
    assert few < 0.9 * many
    ((_, params),) = lower(references).rows_of(Pmu)
    assert (params.pages, len(params.readings), params.shares) == (32, 8, 0)


def test_what_is_no_partition_of_tiles():
    g = sg.Graph("plain")
    g.output(g.input("x", sg.int8[1, 4], (3,)).promote(name="up"), "y")
    with pytest.raises(sg.StepError, match="row_references finds nothing to store in plain"):
        row_references(g)
    with pytest.raises(sg.StepError, match="needs a partition of tiles, but up is a promote"):
        row_references(g, partition="up")
    with pytest.raises(sg.StepError, match="row_references: plain has no partition u; there is up"):
        row_references(g, partition="u")
