"""The circuits that a benchmark measures for an hour can be made."""

from __future__ import annotations

import re

import pytest

from benchmarks import check, language_units
from benchmarks.resources import CASES, Case
from benchmarks.table import RESULTS, Table
from stepgen.hw.private import elaborated
from stepgen.hw.unit import core_of


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
