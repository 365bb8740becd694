"""Boards whose bitstreams only Vivado makes, from the command line."""

from __future__ import annotations

import shlex
from pathlib import Path

import fake_tools
import pytest

from stepgen.cli.app import execute

BOARD = "arty-a7-100"
LINE = f"p.py:layer --board {BOARD}"


@pytest.fixture(autouse=True)
def tools(tmp_path_factory, monkeypatch):
    return fake_tools.install(tmp_path_factory.mktemp("tools") / "bin", monkeypatch)


def contents(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


def test_a_project_is_written(stepgen, here, tools) -> None:
    said = stepgen(f"build {LINE} -o out")
    assert (said.code, tools.calls) == (0, [])
    place = here / "out" / BOARD
    before = contents(place)
    names = {f"layer_arty_a7_100{end}" for end in (".v", ".xdc")}
    assert before.keys() == {"build.tcl", "program.tcl", "made.json", *names}
    assert said.out.splitlines()[-2:] == [
        "clock: 100 MHz; Vivado reports whether it is met",
        f"it makes the bitstream by: vivado -mode batch -source out/{BOARD}/build.tcl",
    ]
    report = stepgen(f"build {LINE} -o out --json").json
    assert (report["board"], report["built"], report["clock"]) == (
        BOARD,
        False,
        {"hz": 100_000_000},
    )
    assert report["files"]["script for Vivado"] == f"out/{BOARD}/build.tcl"
    assert report["files"]["verilog"] == "out/layer.v"
    # What Vivado has put there stays, what is gone is written again.
    (place / "layer_arty_a7_100.bit").write_bytes(b"bits")
    (place / "project").mkdir()
    (place / "build.tcl").unlink()
    assert stepgen(f"build {LINE} -o out").code == 0
    assert contents(place) == {**before, "layer_arty_a7_100.bit": b"bits"}
    assert (place / "project").is_dir()
    # From the folder alone.
    assert stepgen(f"build out --board {BOARD} --json").json["built"] is False


@pytest.mark.slow
def test_another_clock(stepgen, here) -> None:
    assert stepgen(f"build {LINE} -o out --clock 80").code == 0
    assert "Clock of the design: 80 MHz." in (here / "out" / BOARD / "build.tcl").read_text()
    said = stepgen(f"build {LINE} -o out --clock auto")
    assert said.code == 2
    assert f"--clock auto can't be given for {BOARD}: Vivado reports which clock is met" in said.err


@pytest.mark.parametrize("folder", ["my $HOME; it's"])
def test_the_command_is_one_of_a_shell(here, capsys, folder: str) -> None:
    """Wherever the script lies."""
    assert execute([*f"build {LINE} -o".split(), folder]) == 0
    command = capsys.readouterr().out.splitlines()[-1].partition("makes the bitstream by: ")[2]
    assert shlex.split(command) == [
        *["vivado", "-mode", "batch", "-source"],
        f"{folder}/{BOARD}/build.tcl",
    ]
    assert (here / shlex.split(command)[-1]).is_file()


@pytest.mark.parametrize("command", ["deploy", "synth"])
def test_what_to_run_instead_is_reported(stepgen, here, command: str) -> None:
    said = stepgen(f"{command} {LINE}")
    assert said.code == 2
    assert said.err.splitlines() == [
        f"stepgen: Arty A7-100T has to be built with Vivado: stepgen build {LINE} -o build writes "
        f"the project, vivado -mode batch -source build/{BOARD}/build.tcl makes the bitstream, and "
        f"build/{BOARD}/program.tcl loads it"
    ]
    assert not (here / "build").exists()


def test_boards_say_by_what_they_are_built(stepgen) -> None:
    rows = {row["board"]: row for row in stepgen("board --json").json["boards"]}
    assert rows[BOARD]["built_by"] == "Vivado"
    assert rows["ulx3s-85f"]["built_by"] == "open tools"
