"""A system of programs on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from stepgen.cli.app import execute

PAIR = """
import stepgen as sg


def twice():
    g = sg.Graph("twice")
    x = g.input("x", sg.int8[1, 10], (5,))
    kept = g.tensor("kept", (5, 10), sg.int8)
    y = x.map(sg.fn.add(), x)
    sg.linear_offchip_store(y, kept)
    g.output(y, "y")
    return g


def pair(lanes: int = 8):
    parts = {"first": twice(), "second": twice()}
    return sg.System(parts, {"first_y": "second_x"}, name="pair", lanes={"first": lanes})
"""


@pytest.fixture
def pair(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pair.py").write_text(PAIR)
    return "pair.py:pair"


def shown(capsys, *words):
    assert execute([*words, "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def test_a_system_is_a_program(pair, capsys):
    run = shown(capsys, "run", pair)
    assert list(run["streams"]) == ["second_y"]
    assert list(run["tensors"]) == ["first_kept", "second_kept"]
    time = shown(capsys, "time", pair, "--stall", "first_x=0.5", "--depth", "second_x=9")
    assert time["off_chip_bytes"] == {"symbolic": None, "model": 112, "read": 0, "written": 112}
    assert {u["unit"].partition("_")[0] for u in time["units"]} >= {"first", "second"}
    assert shown(capsys, "time", pair, "--set", "lanes=1")["cycles"] > time["cycles"]


def test_the_folder_of_a_system_is_the_system(pair, capsys):
    written = shown(capsys, "verilog", pair, "-o", "made", "--bench", "--host", "--wrap", "axi")
    assert shown(capsys, "verilog", "made", "-o", "made")["hash"] == written["hash"]
    again = shown(capsys, "time", "made")
    assert again["cycles"] == shown(capsys, "time", pair)["cycles"]
    assert shown(capsys, "run", "made")["streams"] == shown(capsys, "run", pair)["streams"]
    assert execute(["show", pair]) == 0
    assert "first_y -> second_x" in capsys.readouterr().out


ONE = "the system pair is made of several programs, and this takes one of them: first or second"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("metrics",), ONE),
        (("simulate",), ONE),
        (("time", "--transform", "row_references"), ONE),
        (
            ("time", "--lanes", "4"),
            "--lanes can't be given: the system pair says that first has 8, second has 4",
        ),
        (
            ("time", "--set", "lanes=3"),
            "the lanes of first must be a power of two up to 32, not 3",
        ),
        (
            ("time", "--stall", "second_x=0.5"),
            "there is nothing called 'second_x' to stall, only first_x, second_y, ",
        ),
        (("time", "--depth", "y=9"), "design pair has no channel y"),
    ],
)
def test_what_a_system_does_not_take(pair, capsys, words, said):
    command, *options = words
    assert execute([command, pair, *options]) == 2
    assert said in capsys.readouterr().err.splitlines()[-1]


def test_an_input_that_is_fed_is_not_given(pair, capsys, tmp_path):

    np.savez(tmp_path / "in.npz", second_x=np.zeros((5, 1, 10), np.int8))
    assert execute(["run", pair, "--inputs", "in.npz"]) == 2
    assert "second_x" in capsys.readouterr().err
