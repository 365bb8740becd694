"""``stepgen compare``: what changed from one design to another."""

from __future__ import annotations

import pytest

from stepgen.compile.cost import on_chip_bits
from stepgen.cosim.experiment import Experiment
from stepgen.program import program
from stepgen.report.comparison import change

TWO = "p.py:layer p.py:layer --set width=4 --against-set width=9"


def experiment(here, **settings):
    loaded = program.load(f"{here}/p.py:layer", {k: str(v) for k, v in settings.items()})
    return Experiment(loaded.graph, loaded.inputs)


def test_the_same_design_has_no_changes(stepgen, here):
    said = stepgen("compare p.py:layer p.py:layer --json").json
    assert all(before == after for before, after in said["totals"].values())
    for what in ("units", "fifos"):
        assert said[what] == {"added": [], "removed": [], "changed": {}}
    assert "Units: the same" in stepgen("compare p.py:layer p.py:layer").out


def test_totals_are_those_of_both(stepgen, here):
    said = stepgen(f"compare {TWO} --no-luts --json").json
    sides = [experiment(here, width=4), experiment(here, width=9)]
    totals = said["totals"]
    assert totals["cycles"] == [side.prediction.cycles for side in sides]
    assert totals["bits"] == [on_chip_bits(side.design) for side in sides]
    assert totals["read"] == [side.traffic[0] for side in sides]
    assert said["names"] == ["p.py:layer width=4", "p.py:layer width=9"]
    kept = [{unit.name: unit for unit in side.design.units} for side in sides]
    assert said["units"]["removed"] == [name for name in kept[0] if name not in kept[1]]
    for name, pairs in said["units"]["changed"].items():
        assert name in kept[0]
        assert all(before != after for before, after in pairs.values())


def test_a_folder_beside_a_program(stepgen, here):
    assert stepgen("verilog p.py:layer --depth partition_0=9 -o folder").code == 0
    said = stepgen("compare folder p.py:layer --json").json
    assert said["fifos"]["changed"]["partition_0"]["depth"][0] == 9
    assert said["names"] == ["folder", "p.py:layer"]


def test_a_unit_of_another_kind_is_another_unit(stepgen, here):
    """Names that stepgen has given say nothing about two programs."""
    units = stepgen("compare p.py:layer gelu --no-luts --json").json["units"]
    for pairs in units["changed"].values():
        assert "kind" not in pairs
    assert {*units["added"]} & {*units["removed"]}


@pytest.mark.slow
def test_one_side_that_stops(stepgen, here):
    """The other numbers are compared."""
    said = stepgen("compare p.py:layer p.py:layer --max-cycles 10")
    assert said.code == 2
    assert "takes more than 10 cycles" in said.err
    line = "compare moe moe --set tokens=16 --depth route_to_reassemble_0=3"
    said = stepgen(line)
    assert said.code == 2
    assert "deadlocks" in said.err
    assert "on-chip bits" in said.out


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [(100, 42, "-58 %"), (4, 4, "same"), (0, 3, "new"), (None, 3, ""), (2, 3, "+50 %")],
)
def test_change(before, after, said):
    assert change(before, after) == said


def test_a_page_has_the_comparison(stepgen, here):
    line = TWO.removeprefix("p.py:layer ").replace("p.py:layer", "p.py:layer --against p.py:layer")
    assert stepgen(f"report {line} -o two.html").code == 0
    text = (here / "two.html").read_text()
    assert "Beside another design" in text
    assert "p.py:layer width=9" in text


@pytest.mark.parametrize("line", ["compare p.py:layer {}", "report p.py:layer --against {}"])
@pytest.mark.parametrize(
    ("second", "said"),
    [("p.py:missing", "missing"), ("nowhere", "nowhere"), ("p.py:mismatch", "int8 8x4")],
)
def test_nothing_is_predicted_before_both_are_loaded(stepgen, here, line, second, said):
    found = stepgen(line.format(second))
    assert found.code == 2
    assert said in found.err
    assert found.err.splitlines()[:-1] == ["loading"]
    assert not (here / "report.html").exists()
