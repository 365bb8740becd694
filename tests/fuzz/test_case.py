"""Cases as files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile import refused
from mutations import mutated
from seeds import some_slow

import stepgen as sg
from stepgen.fuzz.case import Case
from stepgen.fuzz.compare import compare
from stepgen.fuzz.draw import case


@pytest.mark.parametrize("number", some_slow(range(8), 4))
def test_a_file_is_the_whole_case(number: int) -> None:
    drawn, _, _ = case(9, number)
    again = Case.loads(drawn.dumps(), "the file")
    assert again.dumps() == drawn.dumps()
    assert again.experiment().design == drawn.experiment().design


def arrays(value: Any) -> list[tuple[str, tuple[int, ...]]]:
    if isinstance(value, list):
        return [one for item in value for one in arrays(item)]
    return [(np.asarray(value).dtype.name, np.shape(value))]


def test_a_file_has_the_shapes_of_empty_tiles() -> None:
    empty = 0
    for number in range(60):
        drawn, _, _ = case(9, number)
        again = Case.loads(drawn.dumps(), "the file")
        for name, value in drawn.inputs.items():
            assert arrays(again.inputs[name]) == arrays(value)
            empty += any(0 in shape for _, shape in arrays(value))
        if empty > 2:
            return
    raise AssertionError("no tile is empty")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"graph": None}, "is not a case of the fuzzer: it lacks a graph or inputs"),
        ({"format": 7}, "is in format 7 of stepgen"),
        ({"lanes": "two"}, "lanes must be"),
        ({"bus": {"data_bits": 7}}, "data width must be"),
        ({"more": 1}, "more"),
        ({"early": ["nix"]}, "case.json: early names 'nix', but the input streams are "),
        ({"aborts": [0.5, 1e300]}, r"aborts must be shares in \[0, 2\], not \(0.5, 1e\+300\)"),
        ({"inputs": 3}, "inputs must be an object, not 3"),
        ({"inputs": {"x": [{"object": [1]}]}}, "x has .* for an array"),
        ({"inputs": {"x": [{"int8": [[1], [2, 3]]}]}}, "x has .* for an array"),
        ({"inputs": {"x": 7}}, "x has 7 for an array"),
        ({"inputs": {"x": {"int8": {"shape": [4]}}}}, "x has .* for an array"),
        ({"inputs": {"x": {"int8": {}}}}, "x has .* for an array"),
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


@pytest.mark.parametrize("seed", some_slow(range(3), 1))
def test_files_made_wrong_in_one_place(seed: int) -> None:
    data = json.loads(case(9, seed)[0].dumps())
    for what, wrong in mutated(data, seed=seed, count=100):
        try:
            made = Case.loads(json.dumps(wrong), "the file")
        except sg.StepError as error:
            refused(error)
            continue
        verdict = compare(made, rtl=False)
        assert not re.match(r"\w+ in \w+\.py", verdict.says), (what, verdict.says)
