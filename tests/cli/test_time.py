"""What `stepgen time` says beside its table."""

from __future__ import annotations

import pytest

from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.params import UnitParams, params_class
from stepgen.hw.units import load_all
from stepgen.program import program

WRITTEN = """
import numpy as np
import stepgen as sg


def scattered(columns: int = 5):
    g = sg.Graph("scattered")
    t = g.tensor("t", (4, columns), sg.int8)
    at = g.input("at", sg.address[1, 1], (3,))
    rows = g.input("rows", sg.int8[1, columns], (3,))
    g.output(sg.random_offchip_store(at, rows, t, tile=(1, columns)), "done")
    return g, {"at": np.arange(3).reshape(3, 1, 1), "rows": np.ones((3, 1, columns), np.int8)}


def merged(n: int = 0):
    g = sg.Graph("merged")
    x, y = (g.input(name, sg.int8[1, 4], (n,)) for name in "xy")
    data, _ = sg.eager_merge([x, y], rank=0)
    g.output(data, "out")
    return g
"""


def test_words_that_depend_on_addresses_are_a_bound(stepgen, here) -> None:
    (here / "w.py").write_text(WRITTEN)
    assert "by formula at most 48\n" in stepgen("time w.py:scattered").out
    assert "by formula 24\n" in stepgen("time w.py:scattered --set columns=8").out


def test_a_merge_without_chunks(stepgen, here) -> None:
    (here / "w.py").write_text(WRITTEN)
    assert (
        "eager_merge_0 took its inputs to their ends, no chunk\n" in stepgen("time w.py:merged").out
    )
    assert "took its inputs in the order 0 1\n" in stepgen("time w.py:merged --set n=1").out


WRONG = """
import numpy as np
import stepgen as sg


def overfull():
    g = sg.Graph("overfull")
    x = g.input("x", sg.int8[1, 8], ("N",))
    x.linear_offchip_store(g.tensor("t", (4, 8), sg.int8), name="put")
    return g, {"x": np.zeros((5, 1, 8), np.int8)}


def joined(first: int = 1, second: int = 2):
    g = sg.Graph("joined")
    x, y = (g.input(name, sg.int8[1, 8], (count,)) for name, count in (("x", "N"), ("y", "M")))
    sel = g.input("sel", sg.Selector(2), ("S",))
    g.output(sg.reassemble([x, y], sel, rank=0, name="back"), "z")
    rows = {"x": np.zeros((first, 1, 8), np.int8), "y": np.zeros((second, 1, 8), np.int8)}
    return g, {**rows, "sel": np.array([[1, 0], [0, 1], [1, 1]], bool)}
"""


@pytest.mark.parametrize("command", ["time", "simulate"])
@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ("overfull", "put (w.py:9): x.0 has more than the 32 elements that tensor t has room for"),
        ("joined", "back (w.py:17): its inputs do not match at run time: sel.0 gives a value wi"),
        ("joined --set first=3", "back (w.py:17): x.0 has a chunk left when the selectors of sel."),
    ],
)
def test_an_infeasible_run_reports_its_cause(stepgen, here, command, program, sentence) -> None:
    """Not a number of cycles, nor which FIFOs are empty or full in the end."""
    (here / "w.py").write_text(WRONG)
    said = stepgen(f"{command} w.py:{program}")
    assert said.code == 2
    assert said.err.splitlines()[-1].startswith(f"stepgen: {sentence}")


DECIDED = """
import stepgen as sg


def by(what: str = "top_k", rows: int = 5, data: bool = True):
    g = sg.Graph("decided")
    x = g.input("x", sg.int8[1, 8], (rows,))
    w = g.tensor("w", (8, 3), sg.int8)
    load = sg.linear_offchip_load(w, tile=(8, 3), shape=(1,), stride=(1,), ref=x)
    y = x.map(sg.fn.matmul(), load.flatten(0, 1))
    if what == "padding":
        least = g.input("least", sg.int32[1, 1], (rows, 1))
        row = y.reshape(chunk=1, pad=None)
        flag = row.map(sg.fn.row_max()).map(sg.fn.compare("lt"), least)
        z = x.flat_map(sg.fn.retile_streamify("row"), rank=0, padding=flag)
    elif what == "address":
        at = g.tensor("at", (4, 1), sg.address)
        place = sg.linear_offchip_load(at, tile=(1, 1), shape=(rows,), stride=(0,))
        v = g.tensor("v", (4, 3), sg.int32)
        z = y.map(sg.fn.add(), place.random_offchip_load(v, tile=(1, 3)))
    elif what == "locate":
        v = g.tensor("v", (3, 3), sg.int32)
        z = y.map(sg.fn.add(), y.map(sg.fn.argmax()).random_offchip_load(v, tile=(1, 3)))
    elif what == "calculate":
        at = g.tensor("at", (1, 2), sg.address)
        pair = sg.linear_offchip_load(at, tile=(1, 2), shape=(rows,), stride=(0,))
        ranges = pair.map(sg.fn.at_most(2)).flat_map(sg.fn.span(2), rank=1)
        z = ranges.random_offchip_load(g.tensor("v", (4, 3), sg.int32), tile=(1, 3))
        g.output(y, "y")
    else:
        if what == "as_selector":
            y = y.map(sg.fn.compare("lt"), g.input("least", sg.int32[1, 3], (rows,)))
        chosen = y.map(sg.fn.top_k(1) if what == "top_k" else sg.fn.as_selector())
        if what == "as_selector":
            chosen = chosen.map(sg.fn.logical_not())
        z = sg.reassemble(sg.partition(x, chosen, rank=0), chosen, rank=0)
    g.output(z, "z")
    return g
"""


@pytest.mark.slow
def test_data_are_drawn_where_they_decide(stepgen, here) -> None:
    """By each unit whose output no cycle model has: `run` and `test` draw them in any case."""
    (here / "d.py").write_text(DECIDED)
    deciding: set[str] = set()
    for what in ("top_k", "as_selector", "padding", "address", "locate", "calculate"):
        loaded = program.load("d.py:by", {"what": what})
        one = Experiment(loaded.graph, loaded.inputs)
        deciding |= {unit.kind for unit in one.design.units if unit.params.decides}
        time = stepgen(f"time d.py:by --set what={what} --json")
        assert time.code == 0, time.err
        assert time.json["cycles"] == one.prediction.cycles
        tiles = stepgen(f"simulate d.py:by --set what={what} --json")
        assert tiles.code == 0, tiles.err
        assert stepgen(f"verilog d.py:by --set what={what} -o {what}").code == 0
        assert stepgen(f"time {what} --json").json["cycles"] == one.prediction.cycles
    base = UnitParams.decides
    assert deciding == {k for k in load_all() if params_class(k).decides is not base}
