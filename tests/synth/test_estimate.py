"""What units take of an FPGA, against what was measured, and estimates without synthesis."""

from collections import Counter, defaultdict

import pytest

import stepgen as sg
from benchmarks.units import CHECKED, WHOLE, design_of, distinct, synthesized
from stepgen.compile.lower import lower
from stepgen.hw.units import load_all
from stepgen.report import resources
from stepgen.synth import counting
from stepgen.synth.circuits import FIFO
from stepgen.synth.estimate import Estimator, estimate, measurements, weighed
from stepgen.synth.measuring import TOOL, measured
from stepgen.synth.toolchain import MEASURED
from stepgen.tools import external

AGAIN = "measure again: python -m benchmarks units"
EXACT = ("ff", "multiplier", "block_ram", "lut_ram")
MOST = 2
"""Circuits of a kind that are synthesized."""
SAME_YOSYS, OTHER_YOSYS = 0.03, 0.1
"""Share by which LUTs may differ from those measured, with the Yosys of then and with another."""
WRONG = 0.15
"""Share by which the estimate of a whole design may be wrong."""


def rows_measured():
    """What was measured of units and FIFOs, by program, lanes, kind and name."""
    return {(r["program"], r["lanes"], r["kind"], r["name"]): r for r in measurements()["units"]}


@pytest.fixture(scope="module")
def chosen():
    """Some circuits of each kind, named as in `rows_measured`; those with block RAM first."""
    kinds, seen, was = defaultdict(list), set(), rows_measured()
    for program in CHECKED:
        for circuit in distinct(design_of(*program), seen):
            one = (*program, circuit.kind, circuit.name)
            blocks = was[one]["block_ram"] if one in was else 0
            kinds[circuit.kind].append((-blocks, one, circuit.text))
    assert kinds.keys() == {FIFO, *load_all()}
    return {one: text for found in kinds.values() for _, one, text in sorted(found)[:MOST]}


@pytest.mark.slow
def test_units_take_what_was_measured(chosen, tmp_path):
    """Of each kind, in one process of Yosys.

    LUTs of some circuits, as of a load by address, depend by a fifth on the names that Yosys gives,
    and these on what it synthesized before: what differs is synthesized again, as the first.
    """
    was = rows_measured()
    same = external.find(TOOL).version == measurements()["yosys"]
    most = SAME_YOSYS if same else OTHER_YOSYS
    assert chosen.keys() <= was.keys(), AGAIN

    def near(name, takes):
        return abs(takes["lut"] - was[name]["lut"]) <= most * was[name]["lut"]

    for name, takes in measured(chosen, tmp_path).items():
        exact = {what: was[name][what] for what in EXACT}
        assert {what: takes[what] for what in EXACT} == exact, f"{name}: {AGAIN}"
        if not near(name, takes):
            (takes,) = measured({name: chosen[name]}, tmp_path).values()
        assert near(name, takes), f"{name}: {AGAIN}"


@pytest.mark.slow
def test_multipliers_and_block_ram_are_counted_exactly():
    designs = {one: estimate(design_of(*one)) for one in CHECKED}
    seen = 0
    for (program, lanes, kind, name), row in rows_measured().items():
        if (program, lanes) in designs:
            found = designs[program, lanes]
            takes = (found.channels if kind == FIFO else found.units).get(name)
            if takes is None:  # since then it has become the epilogue of another
                continue
            seen += 1
            for what in ("multiplier", "block_ram"):
                assert takes[what] == row[what], (program, name, what)
    assert seen > 100


def test_many_designs_are_estimated_as_one_by_one():
    """Units and FIFOs are counted exactly; of the third design control is interpolated."""
    g = sg.Graph("several")
    x, w = g.input("x", sg.int8[2, 8], (3,)), g.input("w", sg.int8[8, 8], (3,))
    small = x.map(sg.fn.matmul(), w).map(sg.fn.requantize(shift=4))
    g.output(small.map(sg.fn.row_sum()), "y")
    some, seen = Estimator(), set()
    for lanes in (4, {"*": 4, "row_sum": 1}, {"*": 4, "requantize": 2, "row_sum": 1}, 2):
        design = lower(g, lanes=lanes)
        seen.add(len(design.channels))
        found, whole = some.total(design), estimate(design).total
        assert all(abs(found[what] - whole[what]) <= 0.003 * whole[what] for what in MEASURED)
    assert len(seen) > 2


def test_the_parts_of_an_estimate_add_up():
    g = sg.Graph("one")
    x = g.input("x", sg.int8[1, 8], (4,))
    g.output(x.fifo(600).map(sg.fn.row_sum()).promote().accum(sg.fn.retile_row(), rank=1), "y")
    design = lower(g, lanes=8)
    found = estimate(design)
    assert found.units.keys() == {u.name for u in design.units}
    assert found.channels.keys() == {c.name for c in design.channels}
    parts = [*found.units.values(), *found.channels.values(), found.control]
    assert found.units["x"]["ff"]  # though a signal has the same name
    assert found.total == {what: sum(p[what] for p in parts) for what in MEASURED}
    (deep,) = (c for c in design.channels if c.depth == 600)
    assert found.channels[deep.name]["block_ram"] == -(-deep.width // 18)  # 1024 rows of 18 bits
    assert not found.foreign
    document = resources.document(design, found)
    assert document["total"] == found.total
    assert [row["unit"] for row in document["units"]] == [u.name for u in design.units]


def test_the_stated_error_is_the_measured_one():
    data = measurements()
    assert {(d["program"], d["lanes"]) for d in data["designs"]} == set(WHOLE), AGAIN
    wrong = [abs(d["lut_estimated"] / d["lut"] - 1) for d in data["designs"]]
    assert data["errors"]["design_lut"] == round(100 * max(wrong), 1)
    assert max(wrong) < WRONG
    assert {kind["kind"] for kind in data["units"]} == {FIFO, *load_all()}, AGAIN


def test_contents_are_counted_once(tmp_path, monkeypatch):
    """They are kept in the cache; where none can be written, they are counted again."""
    g = sg.Graph("one")
    g.output(g.input("x", sg.int8[1, 8], (4,)).map(sg.fn.row_sum()), "y")
    design, calls = lower(g, lanes=8), []
    count = counting.counted
    monkeypatch.setattr(counting, "counted", lambda *a, **k: calls.append(a) or count(*a, **k))
    monkeypatch.setenv("STEPGEN_CACHE", str(tmp_path))
    first = estimate(design)
    assert estimate(design) == first
    assert len(calls) == 1
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("STEPGEN_CACHE", str(tmp_path / "file" / "below"))
    assert estimate(design) == first
    assert len(calls) == 2


def test_logic_is_weighed():
    weights = measurements()["weights"]
    nothing = dict.fromkeys(MEASURED, 0)
    assert weighed(Counter(), weights) == nothing
    assert weighed(Counter(add=100), weights)["lut"] == round(100 * weights["add"])
    assert weighed(Counter(lut_ram=2), weights) == nothing | {"lut": 12, "lut_ram": 12}


@pytest.mark.slow
@pytest.mark.parametrize(("program", "lanes"), WHOLE)
def test_whole_designs_are_estimated(program, lanes):
    design = design_of(program, lanes)
    found, takes = estimate(design).total, synthesized(design)
    assert abs(found["lut"] - takes["lut"]) <= WRONG * takes["lut"]
    assert abs(found["ff"] - takes["ff"]) <= WRONG * takes["ff"]
    for what in ("multiplier", "block_ram"):
        assert found[what] == takes[what]
