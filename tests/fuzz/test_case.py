"""Cases as files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import stepgen as sg
from stepgen.fuzz.case import Case
from stepgen.fuzz.draw import case


@pytest.mark.parametrize("number", range(8))
def test_a_file_is_the_whole_case(number: int) -> None:
    drawn, _, _ = case(9, number)
    again = Case.loads(drawn.dumps(), "the file")
    assert again.dumps() == drawn.dumps()
    assert again.experiment().design == drawn.experiment().design


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"graph": None}, "is no case of the fuzzer: it lacks a graph or inputs"),
        ({"format": 7}, "is in format 7 of stepgen"),
        ({"lanes": "two"}, "lanes must be"),
        ({"bus": {"data_bits": 7}}, "data width must be"),
        ({"more": 1}, "more"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, change, sentence: str) -> None:
    data = {**json.loads(case(9, 1)[0].dumps()), **change}
    path = tmp_path / "case.json"
    path.write_text(json.dumps({k: v for k, v in data.items() if v is not None}))
    with pytest.raises(sg.StepError, match=sentence):
        Case.load(path).experiment()
    with pytest.raises(sg.StepError, match="can't be read"):
        Case.load(tmp_path / "missing.json")
