"""Pages of runs: their data, links and structure, without a browser."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import lxml.html
import numpy as np
import pytest
from seeds import some_slow

from stepgen.cli.app import execute
from stepgen.compile.cost import on_chip_bits
from stepgen.cosim.experiment import Experiment
from stepgen.program import program
from stepgen.report import page
from stepgen.report.history import history
from stepgen.report.reasons import MEMORY, MOST_PHASES
from stepgen.tools.shipped import shipped

MOE = ["--set", "tokens=16", "--set", "experts=4"]


class Page:
    """A written page."""

    def __init__(self, path: Path):
        self.text = path.read_text()
        self.tree = lxml.html.fromstring(self.text)
        self.data = json.loads(self.tree.get_element_by_id("data").text)

    def drawing(self, which: int) -> dict[str, list[str]]:
        """Boxes of a drawing and what they stand for."""
        pane = self.tree.find_class("pane")[which]
        return {
            g.get("data-name"): g.get("data-members").split()
            for g in pane.iter("{*}g", "g")
            if g.get("data-name")
        }

    def said(self) -> str:
        return " ".join(self.tree.text_content().split())


def written(folder: Path, *line: str, code: int = 0) -> Page:
    path = folder / "report.html"
    assert execute(["report", *line, "-o", str(path)]) == code
    return Page(path)


@pytest.fixture(scope="module")
def moe(tmp_path_factory):
    return written(tmp_path_factory.mktemp("moe"), "moe", *MOE)


@pytest.fixture(scope="module")
def experiment():
    loaded = program.load("moe", {"tokens": "16", "experts": "4"})
    return Experiment(loaded.graph, loaded.inputs)


def test_a_page_needs_nothing_else(moe):
    links = re.findall(r"""(?:src|href|url|import)\s*[=(]\s*["']?([^"')\s>]+)""", moe.text)
    assert {link for link in links if not link.startswith("#")} == set()
    ids = {e.get("id") for e in moe.tree.iter() if e.get("id")}
    assert {link[1:] for link in links} <= ids


def test_scripts_find_what_they_look_for(moe):
    ids = [e.get("id") for e in moe.tree.iter() if e.get("id")]
    assert len(ids) == len({*ids})
    asked = {*re.findall(r'\$\("([\w-]+)"\)', moe.text)}
    assert {"search", "toggle", "time", "tall"} <= asked <= {*ids}


def test_everything_is_drawn_and_nothing_else(moe, experiment):
    units = {unit.name for unit in experiment.design.units}
    channels = {channel.name for channel in experiment.design.channels}
    assert moe.data["units"].keys() == units
    assert moe.data["channels"].keys() == channels
    few, every = moe.drawing(0), moe.drawing(1)
    assert units <= every.keys() <= units | channels
    assert len(few) < len(every) / 2
    assert units <= {name for members in few.values() for name in members} <= units | channels
    for group in moe.data["alike"]:
        assert len({moe.data["units"][name]["kind"] for name in group}) == 1


def test_what_can_be_clicked_is_known(moe):
    chosen = {e.get("data-choose") for e in moe.tree.iter() if e.get("data-choose")}
    assert chosen
    assert chosen <= moe.data["units"].keys() | {f"→{name}" for name in moe.data["channels"]}
    for unit in moe.data["units"].values():
        assert {*unit["inputs"], *unit["outputs"]} <= moe.data["channels"].keys()
    assert {row["unit"] for row in moe.data["rows"]} <= moe.data["units"].keys()


def test_units_have_the_line_that_made_them(moe, tmp_path):
    unit = moe.data["units"]["w1"]
    name, number = unit["where"].split(":")
    lines = (shipped("examples") / name).read_text().splitlines()
    assert unit["line"] == lines[int(number) - 1].strip()
    importlib.import_module("stepgen.study.attention")  # another file of the same name
    seen = written(tmp_path, "attention", "--no-luts")
    assert ".accum(" in seen.data["units"]["accum_2"]["line"]
    assert page.source_line("nowhere.py:3", {}) == ""
    assert page.source_line("graph.json", {"": ["a", "b"]}) == ""


def test_bits_are_those_of_the_design(moe, experiment):
    held = [*moe.data["units"].values(), *moe.data["channels"].values()]
    assert sum(one["bits"] for one in held) == on_chip_bits(experiment.design)


def test_lost_cycles_are_those_in_which_the_limiting_unit_does_not_act(moe):
    found = [re.match(r"Lost .*?: ([\d,]+) cycles", s) for s in moe.data["why"]["sentences"]]
    lost = [int(one[1].replace(",", "")) for one in found if one]
    who = re.search(r"which (\w+) \(matmul\) acts", moe.said())[1]
    (busy,) = {row["busy"] for row in moe.data["rows"] if row["unit"] == who and row["main"]}
    assert len(lost) == 3
    assert sum(lost) == moe.data["cycles"] - busy


def test_a_unit_that_seldom_acts_is_waited_for(tmp_path):
    """Tiles of attention with few rows go round one after the other."""
    sizes = ["lengths=3,9,20", "rows=2", "width=8", "tile=8"]
    line = [word for size in sizes for word in ("--set", size)]
    why = written(tmp_path, "attention", "--no-luts", *line).data["why"]
    assert re.match(r"Latencies limit .*: partition_2 \(partition\) is waited for in", why["lead"])
    assert not any(sentence.startswith("Lost") for sentence in why["sentences"])
    for phase in why["phases"]:
        assert (phase["busy"] >= 0.25) or " limits: " not in phase["sentence"]


def test_phases_are_the_run(moe, experiment):
    phases, cycles = moe.data["why"]["phases"], experiment.prediction.cycles
    assert 0 < len(phases) <= MOST_PHASES
    assert [0, *(p["last"] for p in phases)] == [*(p["first"] for p in phases), cycles]
    for phase in phases:
        assert phase["unit"] in phase["sentence"] or MEMORY in phase["sentence"].lower()
        assert phase["sentence"] in moe.said()
    assert max(n for _, n in moe.data["why"]["bounds"]) <= cycles


def test_the_demo_is_limited_by_memory_then_an_expert_then_the_store():
    """As a person finds by hand: see the timeline in the README."""
    from stepgen.draw.alike import collapsed
    from stepgen.hw.picture import design_picture
    from stepgen.report.reasons import reasons

    loaded = program.load("moe", {})
    run = Experiment(loaded.graph, loaded.inputs)
    few = collapsed(design_picture(run.design, loaded.graph))
    alike = {name: box.members for box in few.boxes for name in box.members}
    why = reasons(run, run.prediction, alike)
    assert [phase["unit"] for phase in why["phases"]] == ["memory", "map_10", "y"]
    assert all(phase["busy"] > 0.95 for phase in why["phases"])
    assert "as busy: reassemble_0" in why["phases"][2]["sentence"]
    computing = {a.unit: a.busy for a in run.prediction.activities if a.name == "compute"}
    mean = round(sum(computing.values()) / len(computing))
    (uneven,) = [sentence for sentence in why["sentences"] if "alike" in sentence]
    assert f"Of {len(computing)} alike units map_10" in uneven
    assert f"{computing['map_10']:,} cycles, and they in {mean:,} on average" in uneven


@pytest.mark.parametrize("most", [10**6, 3000, 100])
def test_a_history_is_exact_or_a_summary(experiment, most):
    prediction = experiment.prediction
    drawn = history(prediction, most=most)
    rows = {(row["unit"], row["does"]): row for row in drawn["rows"]}
    exact = 0
    for activity in prediction.activities:
        row = rows.get((activity.unit, activity.name))
        if row is None:
            continue
        assert row["busy"] + row["starved"] + row["full"] == prediction.cycles
        if "gaps" in row:
            exact += 1
            assert np.cumsum(row["gaps"]).tolist() == activity.changes.tolist()
            assert [*map(int, row["states"])] == activity.states.tolist()
        else:
            assert np.mean(row["busies"]) == pytest.approx(
                100 * activity.busy / prediction.cycles, abs=1
            )
    assert (exact == len(rows)) == (most == 10**6)
    for name, level in drawn["levels"].items():
        moved = np.zeros(prediction.cycles + 2, int)
        np.add.at(moved, prediction.pushes[name], 1)
        np.add.at(moved, prediction.pops[name], -1)
        every, times = np.cumsum(moved), np.cumsum(level["gaps"]).tolist()
        for start, end, shown in zip(times, [*times[1:], len(every)], level["levels"], strict=True):
            assert shown == every[start:end].max()


@pytest.mark.slow
def test_a_deadlock_shows_who_waits(tmp_path):
    seen = written(tmp_path, "moe", *MOE, "--depth", "route_to_reassemble_0=3", code=2)
    waiting = seen.data["waiting"]
    known = seen.data["channels"].keys() | seen.data["units"].keys()
    assert {w["channel"].partition(".")[0] for w in waiting} <= known  # also FIFOs inside units
    assert {"unit": "route_fork", "channel": "route_to_reassemble_0"}.items() <= waiting[0].items()
    assert seen.data["remedy"].keys() == {"route_to_reassemble_0"}
    assert "deadlocks in cycle" in seen.said()
    assert seen.data["rows"]


WRONG = """
import numpy as np
import stepgen as sg


def overfull():
    g = sg.Graph("overfull")
    x = g.input("x", sg.int8[1, 8], ("N",))
    x.linear_offchip_store(g.tensor("t", (4, 8), sg.int8), name="put")
    return g, {"x": np.zeros((5, 1, 8), np.int8)}


def behind():
    g = sg.Graph("behind")
    at, w = g.input("at", sg.address[1, 1], (2,)), g.tensor("w", (9, 8), sg.int8)
    g.output(at.random_offchip_load(w, tile=(1, 8), name="rows"), "y")
    return g, {"at": [[[1]], [[9]]], "w": np.zeros((9, 8), np.int8)}
"""


@pytest.mark.parametrize("name", some_slow(["overfull", "behind"], 1))
def test_a_run_that_stops_has_a_page_with_the_sentence_of_time(tmp_path, capsys, name):
    """Of the first the reference says what is wrong, of the second the cycle model."""
    (tmp_path / "w.py").write_text(WRONG)
    program = f"{tmp_path / 'w.py'}:{name}"
    assert execute(["time", program]) == 2
    said = capsys.readouterr().err.splitlines()[-1].removeprefix("stepgen: ")
    seen = written(tmp_path, program, code=2)
    assert said in seen.said()
    assert seen.data["waiting"] == []
    assert seen.data["why"] is None
    assert ("stopped after" in seen.said()) == (name == "behind")


@pytest.mark.slow
def test_a_chain_that_no_unit_limits(tmp_path):
    """None of its units is one that people look for first; all are shown then."""
    (tmp_path / "chain.py").write_text(
        "import stepgen as sg\n\n\n"
        "def chain(n: int = 60):\n"
        "    g = sg.Graph('chain')\n"
        "    y = g.input('x', sg.int8[1, 4], (2,))\n"
        "    for _ in range(n):\n"
        "        y = y.promote().fifo(3).flatten(0, 1).fifo(3)\n"
        "    g.output(y, 'y')\n"
        "    return g\n"
    )
    seen = written(tmp_path, f"{tmp_path / 'chain.py'}:chain")
    assert seen.data["why"]["lead"].startswith("No unit limits the run by itself")
    assert "units in turn" in seen.data["why"]["phases"][0]["sentence"]
    assert not any(s.startswith("Lost") for s in seen.data["why"]["sentences"])
    assert {row["unit"] for row in seen.data["rows"]} == seen.data["units"].keys()


def test_names_that_html_takes_for_its_own(tmp_path):
    name = "</script><b>"
    (tmp_path / "p.py").write_text(
        "import stepgen as sg\n\n\n"
        "def f(note='a'):\n"
        "    g = sg.Graph('g')\n"
        "    g.output(g.input('x', sg.int8[1, 4], (3,)).map(sg.fn.scale(2)), 'y')\n"
        "    return g\n"
    )
    seen = written(tmp_path, f"{tmp_path / 'p.py'}:f", "--set", f"note={name}")
    assert f"note={name}" in seen.said()
    assert seen.data["cycles"] > 0
