"""Settings from a file: the same run as by options, and one sentence for each mistake in it."""

from __future__ import annotations

import re

import pytest

import stepgen as sg
from stepgen.cli import config
from stepgen.cli.app import app

TEXT = """
program = "p.py:layer"  # for all runs
set = { width = 6 }
stall.x = 0.25

[slow]
latency = 90
no-fuse = true
set.rows = 4
early = ["x"]

[far]
machine = "sda-published"
change.memory.channels = 4
out = "made"

[slow-board]
board = "virtual:ulx3s-85f"
lanes = 2
"""


@pytest.fixture
def settings(here):
    """A file of settings beside the programs."""
    (here / "stepgen.toml").write_text(TEXT)
    return here


def test_a_named_run_is_that_of_its_options(stepgen, settings) -> None:
    said = stepgen("time --config slow --json").json
    line = "--set width=6 --set rows=4 --stall x=0.25 --latency 90 --no-fuse --early x --json"
    plain = stepgen(f"time p.py:layer {line}").json
    assert said.pop("settings") == {"config": "stepgen.toml:slow", **plain["settings"]} | {
        "config": "stepgen.toml:slow"
    }
    assert plain.pop("settings")["config"] is None
    assert said == plain
    for other in ("stepgen.toml:slow", "./stepgen.toml:slow"):
        assert stepgen(f"time --config {other} --json").json["cycles"] == said["cycles"]


def test_options_win_over_the_file_name_by_name(stepgen, settings) -> None:
    said = stepgen("time --config slow --latency 20 --set width=3 --stall mem.r=0.5 --json").json
    own = said["settings"]
    assert own["latency"] == 20
    assert own["set"] == {"rows": "4", "width": "3"}
    assert own["stall"] == {"x": "0.25", "mem.r": "0.5"}
    other = stepgen("time p.py:soft --config stepgen.toml --json")
    assert "p.py:soft has no parameter 'width'" in other.json["error"]


def test_a_file_is_for_several_commands(stepgen, settings) -> None:
    """Options that a command does not have are left for others; --json is never in a file."""
    assert stepgen("metrics --config slow").code == 0
    said = stepgen("simulate --config far --json").json
    assert said["settings"]["change"] == {"memory.channels": "4"}
    assert "latency" not in said["settings"]
    assert stepgen("verilog --config far").code == 0
    assert (settings / "made" / "layer.v").exists()
    # Of a design folder it is the file in the current folder, not one in or beside it.
    (settings / "stepgen.toml").write_text("[near]\nlatency = 7")
    assert stepgen("time made --config near --json").json["settings"]["latency"] == 7


def test_the_line_distinguishes_the_file_from_the_command_line(stepgen, here) -> None:
    text = "program = 'p.py:layer'\nlanes = 2\nset = { width = 4, rows = 4 }"
    (here / "stepgen.toml").write_text(text)
    line = stepgen("time --config stepgen.toml --latency 50 --set width=6").out.splitlines()[-1]
    of_file, others = line.split("; of the command line: ")
    assert of_file == "settings of stepgen.toml: set rows=4, program=p.py:layer, lanes=2"
    assert others == "set width=6, latency=50"


def test_an_output_is_for_the_commands_that_write_such_a_one(stepgen, here) -> None:
    """A folder is not a file; a name between colons is not a picture."""
    (here / "stepgen.toml").write_text("program = 'p.py:layer'\n[b]\nout = 'made'")
    for command in ("run", "report --no-luts"):
        said = stepgen(f"{command} --config b")
        assert said.code == 0, said.err
        assert "\nsettings of stepgen.toml:b: program=p.py:layer" in said.out
        assert "made" not in said.out
    assert (here / "report.html").exists()
    assert not (here / "made").exists()
    (here / "stepgen.toml").write_text("program = 'p.py:layer'\n[b]\nout = 'made.npz'")
    assert stepgen("run --config b").code == stepgen("verilog --config b").code == 0
    assert (here / "made.npz").is_file()
    assert sg.verilog(sg.config("b")).folder.as_posix() == "build"
    (here / "stepgen.toml").write_text("program = 'p.py:layer'\n[b]\nout = 'made.txt'")
    said = stepgen("run --config b").err.splitlines()[-1]
    assert said == "stepgen: stepgen.toml:3: --out is a file that ends in .npz, not made.txt"


def test_paths_are_relative_to_the_file(stepgen, settings, monkeypatch) -> None:
    (settings / "deep").mkdir()
    monkeypatch.chdir(settings / "deep")
    said = stepgen("time ../p.py:layer --config slow --json").json
    assert said["settings"]["config"] == "../stepgen.toml:slow"
    assert said["settings"]["program"] == "../p.py:layer"
    assert stepgen("verilog --config ../stepgen.toml:far").code == 0
    assert (settings / "made").exists()
    assert "there is no file stepgen.toml, which" in stepgen("time --config slow").err


def test_every_report_says_its_settings(stepgen, settings) -> None:
    last = stepgen("time --config slow").out.splitlines()[-1]
    assert last.startswith("settings of stepgen.toml:slow: set width=6, set rows=4, ")
    assert "latency=90" in last
    assert stepgen("time p.py:layer").out.count("settings") == 0
    assert stepgen("report --config slow --no-luts -o page.html").code == 0
    page = (settings / "page.html").read_text()
    given, defaults = page[page.index("--config") :].split("--lanes", 1)
    assert "<th>--no-luts</th><td>yes</td>" in given
    assert "</th><td>4</td>" in defaults  # of --lanes, as the help says
    assert "--latency" in given
    assert "--latency" not in defaults


def test_python_takes_the_same_settings(stepgen, settings) -> None:
    said = stepgen("time --config slow --json").json
    named = sg.config("stepgen.toml:slow")
    assert sg.time(named).cycles == sg.time(sg.config("slow")).cycles == said["cycles"]
    other = stepgen("time --config slow --latency 20 --stall x=0 --json").json
    assert sg.time(named, latency=20, stall={"x": 0}).cycles == other["cycles"]
    assert (
        sg.run(named).count("out")
        == stepgen("run --config slow --json").json["streams"]["out"]["values"]
    )
    with pytest.raises(sg.StepError, match=r"takes no inputs beside stepgen\.toml:slow"):
        sg.run(named, {"x": []})
    assert str(sg.config(settings / "stepgen.toml")) == str(settings / "stepgen.toml")
    with pytest.raises(sg.StepError, match="takes a name or a file of settings, not None"):
        sg.config(None)  # type: ignore[arg-type]
    (settings / "a.toml").mkdir()
    with pytest.raises(sg.StepError, match=r"^can't read a.toml: Is a directory$"):
        sg.config("a.toml")
    (settings / "stepgen.toml").write_text("latency = true")
    with pytest.raises(sg.StepError, match=r"stepgen\.toml:1: latency takes a text or a number"):
        sg.config()
    (settings / "stepgen.toml").write_text("latency = 2")
    with pytest.raises(sg.StepError, match=r"^stepgen.toml has no program$"):
        sg.time(sg.config())


MISTAKES = {
    "latancy = 3": "stepgen.toml:1: there is no option 'latancy', did you mean latency?",
    "[a]\nbus_bits = 8": "stepgen.toml:2: there is no option 'bus_bits', did you mean bus-bits?",
    "no-luts = true": "stepgen.toml:1: there is no option 'no-luts', write luts = false",
    "[stal]\nx = 1": "stepgen.toml:2: there is no option 'x', its keys are the options of commands",
    "json = true": "stepgen.toml:1: json is for the command line alone",
    "lanes = 2.5": "stepgen.toml:1: Invalid value for '--lanes': '2.5' is not a number of lanes.*",
    "latency = 'x'": "stepgen.toml:1: Invalid value for '--latency': 'x' is not a valid int.*",
    "lanes = true": "stepgen.toml:1: lanes takes a text or a number, not True",
    "no-fuse = 1": "stepgen.toml:1: no-fuse takes true or false, not 1",
    "set = ['rows=3']": "stepgen.toml:1: set takes a table of names with values, not .*",
    "[b]\nearly = { x = 1 }": "stepgen.toml:2: early takes a text or a number, or a list of them.*",
    "onchip = 'much'": "stepgen.toml:1: --onchip takes a number of KiB or a board.*",
    "\n[stall]\nx = 7": "stepgen.toml:2: .*x.*7.*",
    "stall.y = 0.5": "stepgen.toml:1: there is nothing called 'y' to stall, only .*",
    "[set]\nrowz = 4": "stepgen.toml:1: p.py:layer has no parameter 'rowz', it has rows, width",
    "program = \nlanes = 2": "stepgen.toml can't be read as TOML: .*line 1, .*",
    "x = " + "[" * 5000: "stepgen.toml can't be read as TOML: .*",
    "[b]": "stepgen.toml has no settings 'a', it has b",
    "": "stepgen.toml has no settings 'a', it has none with a name",
}


@pytest.mark.parametrize("text", MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes_in_a_file_are_named_with_their_line(stepgen, here, text) -> None:
    (here / "stepgen.toml").write_text(text)
    named = "a" if "settings" in MISTAKES[text] else "stepgen.toml"
    said = stepgen(f"time p.py:layer --config {named}")
    assert said.code == 2
    sentence = re.escape(MISTAKES[text]).replace(r"\.\*", ".*")
    assert re.fullmatch(f"stepgen: {sentence}", said.err.splitlines()[-1]), said.err
    assert said.out == ""


def test_lines_are_counted_only_for_a_mistake(here, monkeypatch) -> None:
    """Else a file of many names takes minutes."""
    (here / "stepgen.toml").write_text(TEXT)
    monkeypatch.setattr("stepgen.program.config._line", None)
    assert sg.config("slow").values["latency"] == 90


def test_what_neither_file_nor_line_has_is_named(stepgen, here) -> None:
    (here / "stepgen.toml").write_text("[a]\nlanes = 2")
    said = stepgen("time --config a")
    wanted = "stepgen: stepgen.toml:a has no program, and the command line has none either\n"
    assert said.err == wanted
    said = stepgen("synth p.py:layer --config a")
    assert "stepgen.toml:a has no board, and the command line has none either" in said.err
    assert "there is no file x.toml" in stepgen("time --config x.toml").err
    (here / "stepgen.toml").write_bytes(b"\xef\xbb\xbfprogram = 'p.py:layer'")
    assert stepgen("metrics --config stepgen.toml").code == 0  # as editors of Windows begin it
    (here / "stepgen.toml").write_bytes(b"\xff")
    assert "stepgen.toml can't be read as TOML" in stepgen("time p.py:layer --config a").err


def test_the_keys_are_the_options() -> None:
    keys = config.keys()
    assert {"program", "set", "stall", "board", "machine", "wrap", "clock", "counters"} <= {*keys}
    assert keys["set"].pairs
    assert keys["wrap"].many
    taking = [c for c in app.commands.values() if "config" in [p.name for p in c.params]]
    for command in taking:
        for parameter in command.params:
            others = ("transforms", "lanes")  # texts with names and numbers within
            pairs = "=" in (parameter.metavar or "") and parameter.name not in others
            assert getattr(parameter, "pairs", False) == pairs, (command.name, parameter.name)
            key = keys.get(config.key_of(parameter))
            assert key in (None, config._key(parameter)), (command.name, parameter.name)
