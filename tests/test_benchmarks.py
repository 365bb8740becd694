"""The circuits that a benchmark measures for an hour can be made."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

from benchmarks import check, language_units, other_circuits
from benchmarks.others.systolic_array import systolic_array
from benchmarks.others.tools import MissingTool
from benchmarks.resources import CASES, Case
from benchmarks.table import RESULTS, Table
from stepgen.hw.private import elaborated
from stepgen.hw.unit import core_of
from stepgen.synth.out_of_context import Resources


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_circuits_whose_resources_are_measured(case: Case) -> None:
    elaborated(case.made())


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=[pytest.mark.slow] * ("f32" in case.name))
        for case in language_units.CASES
    ],
)
def test_units_of_language_models(case: language_units.Case) -> None:
    elaborated(core_of(*case.unit()))
    assert case.alone().units


def test_circuits_that_stand_beside_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_circuits, "netlist", lambda circuit, *_: elaborated(circuit))
    made = [made for _, own, others in other_circuits.cases() for made in (own, *others)]
    ours = [one for one in made if one.by in ("stepgen", "hand")]
    assert len(ours) == 8
    for one in ours:
        one.netlist(tmp_path)


def test_what_a_missing_tool_makes_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CALYX_SOURCES", raising=False)
    monkeypatch.setenv("DA4ML_PYTHON", str(tmp_path / "python"))
    array = partial(systolic_array, size=8, sum_bits=8)
    made = {"array": array, "matrix": other_circuits.constant_matrix}
    for one, sentence in (
        ("array", "Calyx needs `cargo inst"),
        ("matrix", "da4ml needs `pip inst"),
    ):
        with pytest.raises(MissingTool, match=sentence):
            made[one](tmp_path)
    others = [other_circuits.Made(by, 1, netlist) for by, netlist in made.items()]
    own = other_circuits.Made("own", 4, lambda folder: (folder / "own.json", ""))
    monkeypatch.setattr(other_circuits, "cases", lambda: [("f", own, others)])
    found = Resources(10, 20, 1, 2, 176.5, (180.0, 190.0, 200.0))
    monkeypatch.setattr(other_circuits, "place", lambda *_, **__: found)
    rows = other_circuits.measure().rows
    assert rows == [("f", "own", 10, 20, 1, 2, "176", "190", 4, "1.00", "1.00")]
    assert capsys.readouterr().out.count("left out: ") == 2


TABLE = Table("z. Something", "Text.", ("what", "cycles", "CPU s"), [("a", "1,000", "3.1")])


@pytest.mark.parametrize(
    ("row", "found"),
    [
        (("a", "1,000", "3.1"), []),
        (("a", "1,099", "9.9"), []),
        (("a", "1,200", "3.1"), ["a, cycles: 1,200 and 1,000"]),
        (("a", "–", "3.1"), ["a, cycles: – and 1,000"]),
        (("b", "1,000", "3.1"), ["a, what: b and a"]),
    ],
)
def test_numbers_that_moved_are_named(row: tuple[str, ...], found: list[str]) -> None:
    text = (
        f"# Results\n\n{Table(TABLE.title, TABLE.text, TABLE.head, [row])}\n2026-11-28\n\n## zz\n"
    )
    assert [*check.moved(TABLE, check.kept(TABLE.title, text))] == found


def test_rows_that_came_are_named() -> None:
    assert [*check.moved(TABLE, [])] == ["1 rows, 0 in the results"]


@pytest.mark.parametrize("title", re.findall(r"^## (.*)$", RESULTS.read_text(), re.MULTILINE))
def test_tables_of_the_results_can_be_read(title: str) -> None:
    assert check.kept(title)


@pytest.mark.slow
def test_cycles_of_the_results_are_still_predicted(capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main(["bound"]) == 0, capsys.readouterr().out
