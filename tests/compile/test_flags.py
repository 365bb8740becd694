"""Flags in off-chip memory, which have no dims of a tile on the wire."""

from __future__ import annotations

import numpy as np
import pytest

import stepgen as sg
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment
from stepgen.ir.stalls import Stalls

ROWS = 7


@pytest.mark.slow
def test_flags_are_loaded_and_stored(tmp_path):
    """In order and by address; flags that are loaded become numbers, and drop rows."""
    g, rng = sg.Graph("flags"), np.random.default_rng(4)
    a, b = (g.input(name, sg.int8[1, 1], (ROWS,)) for name in "ab")
    at, x = g.input("at", sg.address[1, 1], (ROWS,)), g.input("x", sg.int8[1, 6], (ROWS,))
    less = a.map(sg.fn.compare("lt"), b)
    sg.linear_offchip_store(less, g.tensor("in_order", (ROWS, 1), sg.bool_))
    other = g.tensor("other", (ROWS + 2, 1), sg.bool_)
    g.output(sg.random_offchip_store(at, less, other, tile=(1, 1)), "done")
    kept = g.tensor("kept", (ROWS, 1), sg.bool_)
    g.output(at.random_offchip_load(kept, tile=(1, 1)).map(sg.fn.convert(sg.int8)), "numbers")
    each = sg.linear_offchip_load(kept, tile=(1, 1), shape=(1,), stride=(1,), ref=x)
    g.output(x.flat_map(sg.fn.retile_streamify("row"), rank=0, padding=each), "all_or_none")
    plain = sg.linear_offchip_load(kept, tile=(1, 1), shape=(ROWS,), stride=(1,))
    padding = plain.promote(0)
    g.output(x.flat_map(sg.fn.retile_streamify("row"), rank=0, padding=padding), "some")
    each = g.input("each", sg.FLAG, (3, ROWS))
    g.output(each.accum(sg.fn.retile_col(), rank=1).map(sg.fn.as_selector()), "chosen")
    for fn in (sg.fn.retile_row(), sg.fn.retile_col()):
        single = each.promote(0).accum(fn, rank=1)
        g.output(single.promote(0).promote(0).accum(fn, rank=2), fn.name)
    for axis, rank in (("row", 0), ("row", 1), ("col", 1)):
        cut = each.flat_map(sg.fn.retile_streamify(axis), rank=rank)
        g.output(cut, f"{axis}_{rank}")
    inputs = {
        "each": rng.random((3, ROWS, 1, 1)) < 0.5,
        **{name: rng.integers(-9, 9, (ROWS, 1, 1)).astype(np.int8) for name in "ab"},
        "at": rng.permutation(ROWS).reshape(ROWS, 1, 1),
        "x": rng.integers(-9, 9, (ROWS, 1, 6)).astype(np.int8),
        "kept": rng.random((ROWS, 1)) < 0.5,
    }
    one = Experiment(g, inputs, lanes=4, stalls=Stalls(5, {"a": 0.3, "mem.r": 0.3, "done": 0.4}))
    verdict = one.test(tmp_path, driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults
