"""``stepgen fuzz``: a campaign that goes on, what it prints, and the replay of a case."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from icarus import needs_icarus

from stepgen.fuzz import compare
from stepgen.fuzz.coverage import imported
from stepgen.fuzz.draw import case
from stepgen.ir import function
from stepgen.tools import external


def test_a_campaign_goes_on_with_the_same_seed(stepgen, here: Path) -> None:
    first = stepgen("fuzz --no-rtl --cases 3 --seed 4 -o f")
    assert first.code == 0
    assert first.out.startswith("seed 4\n")
    assert "\n3 cases in " in first.out
    again = stepgen("fuzz --no-rtl --cases 2 --seed 4 -o f --json").json
    assert (again["cases"], again["seed"], again["failed"]) == (5, 4, 0)
    other = stepgen("fuzz --no-rtl --cases 1 --seed 5 -o f --json").json
    assert other["cases"] == 1
    assert sorted(p.name for p in (here / "f").iterdir()) == ["4-no-rtl.json", "5-no-rtl.json"]


OWN = """
from dataclasses import dataclass
import numpy as np
import stepgen as sg
from stepgen.functions import Unary

@dataclass(frozen=True)
class Mirrored(Unary):
    def compute(self, at, x):
        return x[:, ::-1]

class Sized(Unary):
    def compute(self, at, x):
        return np.maximum(x, 0)
    def lane(self, x):
        return x
"""


def test_what_was_imported_is_reported(stepgen, here: Path) -> None:
    """Every function and operator, drawn or not; and what a branch that no program took means."""
    (here / "own.py").write_text(OWN)
    before = dict(function._KINDS)
    try:
        line = "fuzz --no-rtl --cases 4 --seed 1 --import own.py -o f"
        report, said = stepgen(f"{line} --json").json, stepgen(line).out
        refused = {"refused: function: map # at the fuzzer: mirrored() has no circuit yet": 2}
        counted = imported({"operator map sized": 2, "operator scan sized": 1}, refused)
    finally:
        function._KINDS.clear()
        function._KINDS.update(before)
    assert counted == {"mirrored": (0, "mirrored() has no circuit yet"), "sized": (3, "")}
    assert report["imported"].keys() == counted.keys()
    for name, count in report["imported"].items():
        assert (count["cases"] == 0) == (count["why"] is not None)
        assert re.search(rf"^{name}: in (0 cases \(.+\)|[1-9]\d* cases)$", said, re.MULTILINE)
    assert any(name.startswith("axi/model.py:") for name in report["not_taken"])
    assert "'no': the condition of an if or while was never false" in said
    assert not re.search(r"model.py:\d+ (yes|no),", said)


def test_a_seed_is_drawn_and_printed(stepgen, here: Path) -> None:
    seeds = {stepgen("fuzz --no-rtl --cases 1 -o f --json").json["seed"] for _ in range(2)}
    assert len(seeds) == 2


def test_a_failure_says_how_to_see_it_again(stepgen, here: Path, monkeypatch) -> None:
    monkeypatch.setattr(compare, "_counted", lambda *_: 1 / 0)
    said = stepgen("fuzz --no-rtl --cases 3 --seed 4 -o f")
    assert said.code == 1
    assert "ZeroDivisionError" in said.out
    (again,) = re.findall(r"^to see it again: stepgen (.*)$", said.out, re.MULTILINE)
    assert again == "fuzz --seed 4 --cases 3 --minutes 3 --no-rtl -o f/again"
    assert stepgen(again).code == 1
    first, second = (sorted((here / f / "crashers").iterdir()) for f in ("f", "f/again"))
    assert first
    assert [p.read_text() for p in first] == [p.read_text() for p in second]


ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("fails", [0, 1])
def test_make_fuzz_shows_the_case_that_fails(tmp_path: Path, fails: int) -> None:
    made = tmp_path / "venv/bin/stepgen"
    made.parent.mkdir(parents=True)
    made.write_text(
        f"#!/bin/sh\nmkdir -p {tmp_path}/fuzz/crashers\n"
        f'echo "whole case" > {tmp_path}/fuzz/crashers/$5-3.json\necho "$@"\nexit {fails}\n'
    )
    made.chmod(0o755)
    (tmp_path / "venv/.ready").touch()
    words = [
        "make",
        "-s",
        "-C",
        str(ROOT),
        "fuzz",
        f"VENV={tmp_path}/venv",
        f"FUZZ={tmp_path}/fuzz",
    ]
    seeds = set()
    for _ in range(2):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        (seed,) = re.findall(
            r"^fuzz --minutes 2 --seed (\d+) -j \d+ -o ", done.stdout, re.MULTILINE
        )
        seeds.add(seed)
        assert (done.returncode != 0) == bool(fails)
        assert (f"{seed}-3.json:\nwhole case\n" in done.stdout) == bool(fails)
    assert len(seeds) == 2


def test_a_case_is_replayed(stepgen, here: Path) -> None:
    drawn = case(6, 1)[0]
    (here / "case.json").write_text(drawn.dumps())
    said = stepgen("fuzz --no-rtl --replay case.json")
    assert said.code == 0
    assert said.out.startswith("case.json: agrees\n")
    assert drawn.graph.name in said.out
    assert stepgen("fuzz --no-rtl --replay case.json --json").json["cases"][0]["status"] == "agrees"


@needs_icarus
@pytest.mark.slow
def test_a_campaign_with_four_states_is_one_of_its_own(stepgen, here: Path) -> None:
    report = stepgen("fuzz --simulator icarus --cases 1 --seed 4 -o f --json").json
    assert (report["simulator"], report["cases"], report["failed"]) == ("icarus", 1, 0)
    assert [p.name for p in (here / "f").iterdir()] == ["4-icarus.json"]


def test_a_simulator_that_is_not_there(stepgen, here: Path, monkeypatch) -> None:
    said = stepgen("fuzz --no-rtl --simulator icarus --cases 1")
    assert said.err == "stepgen: with --no-rtl nothing is simulated, not by icarus either\n"
    lost = external.Tool("iverilog", "four states", "system", None, None, False, "install it")
    monkeypatch.setattr(external, "find_all", lambda: (lost,))
    said = stepgen("fuzz --simulator icarus --cases 1 -o f")
    assert said.err == "stepgen: iverilog (four states) was not found: install it\n"
    assert not (here / "f").exists()


def test_files_that_are_none(stepgen, here: Path) -> None:
    assert stepgen("fuzz --replay nix.json").err.startswith("stepgen: nix.json can't be read")
    (here / "f").mkdir()
    (here / "f/3-no-rtl.json").write_text("[]")
    said = stepgen("fuzz --no-rtl --cases 1 --seed 3 -o f")
    assert (said.code, said.err.count("\n")) == (2, 1)
