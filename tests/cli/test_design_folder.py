"""A design folder is a program to every command, with its own design."""

from __future__ import annotations

import errno
import hashlib
import inspect
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import click
import fake_tools
import pytest
from seeds import others_slow

from stepgen.cli.app import app, execute
from stepgen.cosim.experiment import Experiment
from stepgen.emit import design_writer
from stepgen.hw.design.table import Bus

SMALL = "moe --set tokens=4 --set experts=2 --set width=8 --set hidden=8 --set columns=8"
OPTIONS = "--lanes 2 --bus-bits 32 --burst 8 --outstanding 2 --cover 9 --depth x=9"


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Where the folder is kept for the other tests."""
    return tmp_path_factory.mktemp("kept") / "built"


@pytest.fixture
def folder(stepgen, here, kept):
    """One on a circuit that is not the default."""
    if kept.exists():
        shutil.copytree(kept, here / "built")
    else:
        assert stepgen(f"verilog p.py:layer {OPTIONS} -o built").code == 0
        shutil.copytree(here / "built", kept)
    return here / "built"


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("show {}", ""),
        ("show {} --json", ""),
        ("show {} --design", OPTIONS),
        ("show {} --design --json", OPTIONS),
        ("metrics {} --json", ""),
        ("metrics {} --policy hardware --json", OPTIONS),
        ("run {} --json", "--lanes 2"),
        ("time {} --json", OPTIONS),
        ("simulate {} --json", ""),
    ],
)
def test_it_gives_what_its_program_gives(stepgen, folder, line, options) -> None:
    def said(program, given):
        done = stepgen(f"{line} {given}".format(program))
        assert done.code == 0, done.err
        text = done.out.replace("built", "p.py:layer")
        return {**json.loads(text), "settings": None} if "--json" in line else text

    of_program = said("p.py:layer", options)
    for given in {"", options}:
        assert said("built", given) == of_program


def test_its_verilog_is_not_built_again(stepgen, here, folder) -> None:
    before = {p.name: p.stat().st_mtime_ns for p in folder.iterdir()}
    for program in ("built", f"p.py:layer {OPTIONS}"):
        said = stepgen(f"verilog {program} -o built")
        assert "was there already and is not built again" in said.out
        assert {p.name: p.stat().st_mtime_ns for p in folder.iterdir()} == before
    assert not stepgen("verilog built -o other --json").json["built"]
    assert (here / "other/layer.v").read_bytes() == (folder / "layer.v").read_bytes()


def test_files_that_are_not_asked_for_again_are_removed_with_a_word(stepgen, here, folder) -> None:
    stepgen("verilog built -o other --family ecp5")
    said = stepgen("verilog built -o other")
    assert "removed layer_ecp5.v, layer_ecp5_models.v: this call does not ask for them" in said.out
    assert not (here / "other/layer_ecp5.v").exists()
    assert stepgen("verilog built -o other --json").json["removed"] == []


def test_a_bench_of_another_design_is_named(stepgen, here, folder) -> None:
    assert stepgen("verilog built -o other --bench --json").json["left"] == []
    assert stepgen("verilog built -o other --json").json["left"] == []
    said = stepgen("verilog p.py:layer -o other --depth x=20")
    assert "other/bench is of another design: --bench writes it anew" in said.out
    runner = here / "other/bench/test_layer.py"
    for gone, why in ((False, "is another design than the bench's"), (True, "No such file")):
        if gone:
            (here / "other/layer.v").unlink()
        done = subprocess.run(
            [sys.executable, str(runner)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        assert (len(done.stderr.splitlines()), why in done.stderr) == (1, True), done.stderr


def test_an_edited_file_of_another_design_is_named(stepgen, here, folder) -> None:
    stepgen("verilog built -o other")
    with (here / "other/layer.v").open("a") as verilog:
        verilog.write("// mine\n")
    said = stepgen("verilog p.py:dynamic --dim N=2 -o other")
    assert "other/layer.v is of another design: it was changed by hand, and is left" in said.out


def test_a_bench_that_cannot_be_written_leaves_the_design(
    stepgen, here, folder, monkeypatch
) -> None:
    stepgen("verilog built -o other --bench --family ecp5")
    before = {path: path.read_bytes() for path in (here / "other").rglob("*") if path.is_file()}
    real = tempfile.mkdtemp

    def without_right(*args, **kwargs):
        if str(kwargs.get("dir", "")).endswith("bench"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return real(*args, **kwargs)

    monkeypatch.setattr(tempfile, "mkdtemp", without_right)
    said = stepgen("verilog p.py:layer -o other --bench --depth x=20")
    assert said.code == 2
    assert "can't write other/bench: Permission denied" in said.err, said.err
    now = {path: path.read_bytes() for path in (here / "other").rglob("*") if path.is_file()}
    assert now == before


def a_folder(place: Path) -> None:
    place.unlink(missing_ok=True)
    place.mkdir()


def a_device(place: Path) -> None:
    place.unlink(missing_ok=True)
    place.symlink_to("/dev/null")


def a_pipe(place: Path) -> None:
    place.unlink(missing_ok=True)
    os.mkfifo(place)


def elsewhere(place: Path) -> None:
    place.rename(place.parent.parent / "elsewhere")
    place.symlink_to(place.parent.parent / "elsewhere")


def a_link_to_nothing(place: Path) -> None:
    shutil.rmtree(place)
    place.symlink_to("nothing")


@pytest.mark.parametrize(
    ("name", "made", "why"),
    [
        ("/test_layer.py", a_folder, "it is a folder"),
        ("/layer_bench.py", a_device, "it is not a regular file"),
        ("/stimulus.npz", a_pipe, "it is not a regular file"),
        ("/steady", elsewhere, "it is not a folder"),
        ("/drivers", elsewhere, "it is not a folder"),
        ("", a_link_to_nothing, "it is a link to nothing"),
    ],
)
def test_what_takes_the_place_of_a_file_of_a_bench_leaves_the_design(
    stepgen, here, folder, name, made, why
) -> None:
    stepgen("verilog built -o other --bench")
    made(here / f"other/bench{name}")
    before = {path.name: path.read_bytes() for path in (here / "other").glob("*.*")}
    said = stepgen("verilog p.py:layer -o other --bench --depth x=20")
    assert (said.code, f"can't write other/bench{name}: {why}" in said.err) == (2, True), said.err
    assert {path.name: path.read_bytes() for path in (here / "other").glob("*.*")} == before
    if name == "/test_layer.py":
        assert "is of another design" not in stepgen("verilog built -o other").out


def test_files_of_a_bench_of_another_design_are_removed_with_a_word(stepgen, here, folder) -> None:
    (here / "q.py").write_text(
        "import stepgen as sg\n\n\ndef other():\n    g = sg.Graph('other')\n"
        "    g.output(g.input('x', sg.int8[1, 4], (2,)).promote(), 'y')\n    return g, {}\n"
    )
    stepgen("verilog q.py:other -o o --bench")
    said = stepgen("verilog built -o o --bench --json").json
    assert {f"bench/{name}" for name in ("other_bench.py", "test_other.py")} <= {*said["removed"]}
    assert not [*(here / "o/bench").glob("*other*")]
    assert stepgen("verilog built -o o --bench --json").json["removed"] == []


def test_one_is_left_as_it_is_where_no_other_place_is_named(stepgen, here, folder) -> None:
    before = {p.name: p.stat().st_mtime_ns for p in folder.iterdir()}
    said = stepgen("verilog built")
    assert (said.code, "is not built again" in said.out) == (0, True)
    assert {p.name: p.stat().st_mtime_ns for p in folder.iterdir()} == before
    assert not (here / "build").exists()


def test_one_of_other_circuits_is_written_anew_where_o_says(
    stepgen, here, folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    monkeypatch.setattr(design_writer, "made_by", lambda design: "others")
    said = stepgen("verilog built")
    assert said.code == 2
    message = "built lacks layer.v as stepgen would write it now: -o built writes it anew there"
    assert message in said.err
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before
    assert not (here / "build").exists()
    assert "is not built again" not in stepgen("verilog built -o built").out
    assert "is not built again" in stepgen("verilog built").out


def test_other_inputs_are_written_to_another_folder(stepgen, folder) -> None:
    assert stepgen("run built --seed 3 --save-inputs in.npz").code == 0
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    said = stepgen("verilog built --inputs in.npz")
    assert said.code == 2
    message = (
        "built lacks inputs.npz, design.json as stepgen would write it now: name another folder"
    )
    assert message in said.err
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before
    assert stepgen("verilog built --inputs in.npz -o other").code == 0


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("verilog p.py:layer -o mine", "mine/layer.v"),
        ("verilog p.py:layer -o mine", "mine/design.json"),
        ("test p.py:layer -o mine", "mine/notes.txt"),
        (f"demo {SMALL[4:]} -o mine", "mine/static/index.html"),
    ],
)
def test_files_of_others_are_not_replaced(stepgen, here, line, place) -> None:
    (here / place).parent.mkdir(parents=True)
    (here / place).write_text("{}")
    said = stepgen(line)
    assert said.code == 2
    folder, _, name = place.rpartition("/")
    message = (
        f"can't write {folder}: it is not a design folder, and its {name} might be replaced: name"
    )
    assert message in said.err
    assert [str(p.relative_to(here)) for p in here.rglob("mine/**/*") if p.is_file()] == [place]
    assert (here / place).read_text() == "{}"


def test_verilog_is_written_beside_other_files(stepgen, here) -> None:
    (here / "build/test").mkdir(parents=True)
    (here / "build/notes.txt").write_text("mine")
    assert stepgen("verilog p.py:layer").code == 0
    assert (here / "build/layer.v").exists()


@pytest.mark.slow
def test_a_test_leaves_one_that_repeats_it(stepgen, here, folder) -> None:
    first = stepgen("test built --driver cpp -o t --json").json
    assert first["good"]
    design = json.loads((here / "t/design.json").read_text())["design"]
    assert design["lanes"] == 2
    again = stepgen("test t --driver cpp -o t --json").json
    assert (again["good"], again["cycles"]) == (True, first["cycles"])


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("time built --lanes 4", "--lanes can't be 4: the design in built is finished, with 2"),
        ("run built --lanes 4", "--lanes can't be 4: the design in built is finished, with 2"),
        ("show built --design --onchip 0.1", "--onchip can't be 0.1: the design in built is fini"),
        ("show built --design --onchip icebreaker --bus-bits 32", "--onchip can't be icebreaker: "),
        ("test built --bus-bits 64", "--bus-bits can't be 64: the design in built is finished, wi"),
        ("verilog built --burst 16", "--burst can't be 16: the design in built is finished, wi"),
        ("time built --outstanding 8", "--outstanding can't be 8: the design in built is finished"),
        ("time built --cover 8", "--cover can't be 8: the design in built is finished"),
        (
            "show built --design --depth x=3",
            "--depth x can't be 3: the design in built is",
        ),
        ("time built --depth nix=3", "design layer has no channel nix"),
        (
            "time built --transform insert_forks",
            "--transform can't be given: the design in built is finished; "
            "stepgen show built --json prints its program",
        ),
        ("show built --set rows=3", "built is a finished design and takes no parameters"),
        ("show built/design.json", "built/design.json is a design, not a graph: give the folder"),
        ("show .", "the folder . holds no design: it lacks design.json, which stepgen verilog"),
    ],
)
def test_it_is_not_another_design(stepgen, folder, line, sentence) -> None:
    said = stepgen(line)
    assert said.code == 2
    assert said.err.splitlines()[-1].startswith(f"stepgen: {sentence}")


def test_an_example_goes_before_a_folder_of_its_name(stepgen, folder) -> None:
    folder.rename(folder.parent / "moe")
    assert stepgen("show moe").out.startswith("graph moe_dynamic\n")
    assert stepgen("show ./moe").out.startswith("graph layer\n")
    assert stepgen(f"verilog {SMALL} -o moe --json").json["built"]


def test_help_shows_the_defaults() -> None:
    bus, plain = Bus(), inspect.signature(Experiment).parameters["lanes"].default
    wanted = {"lanes": plain, "bus_bits": bus.data_bits, "burst": bus.burst}
    wanted["outstanding"] = bus.outstanding
    for command in ("show", "time", "run"):
        for option in app.commands[command].params:
            if isinstance(option, click.Option) and option.name in wanted:
                assert option.show_default == str(wanted[option.name]), option.name


def test_other_circuits_than_those_of_the_folder_are_not_simulated(
    stepgen, here, folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stepgen("test built --driver cpp -o t --json").json["good"]
    monkeypatch.setattr(design_writer, "made_by", lambda design: "others")
    said = stepgen("test built --driver cpp -o t")
    assert said.code == 2
    assert "built/layer.v was made by other circuits than those that are here" in said.err
    assert "stepgen verilog built -o built" in said.err


OUTDATED = {
    "board": "{}",
    "show": "{} --design",
    "metrics": "{}",
    "run": "{}",
    "time": "{}",
    "report": "{} -o r.html --no-luts",
    "compare": "{0} {0}",
    "test": "{} --driver cpp -o t",
    "deploy": "{} --board virtual:ulx3s-85f",
    "synth": "{} --board ulx3s-85f",
    "simulate": "{}",
}
NO_RESULTS = {"verilog", "build", "lanes"}
"""Those that make circuits anew, of the folder's program."""


def made_by_others(folder, version) -> None:
    """Make a folder as another stepgen with other circuits might have written it."""
    graph, place = folder / "graph.json", folder / "design.json"
    graph.write_text(json.dumps({**json.loads(graph.read_text()), "stepgen": version}))
    manifest = json.loads(place.read_text())
    manifest |= {"stepgen": version, "made_by": "0" * 64}
    manifest["files"]["graph.json"] = hashlib.sha256(graph.read_bytes()).hexdigest()
    place.write_text(json.dumps(manifest))


def test_every_command_is_asked_for_other_circuits() -> None:
    """Those that take a program, and so a design folder."""
    taking = {
        name
        for name, command in app.commands.items()
        if any(isinstance(p, click.Argument) and p.name == "program" for p in command.params)
    }
    assert taking - NO_RESULTS == OUTDATED.keys()


@pytest.mark.parametrize(
    "command", others_slow(OUTDATED, ("show", "time", "test", "simulate", "run"))
)
def test_results_of_other_circuits_than_the_folders_are_reported(
    stepgen, here, folder, command, monkeypatch
) -> None:
    if command == "synth":
        fake_tools.install(here / "tools", monkeypatch)
    line = f"{command} {OUTDATED[command].format('built')}"
    assert "other circuits" not in stepgen(line).err
    quiet = stepgen(f"{line} --json")
    made_by_others(folder, "0.0.9")
    said, data = stepgen(line), stepgen(f"{line} --json")
    message = (
        "built/layer.v was made by other circuits than those that are here now; stepgen verilog"
    )
    assert f"{message} built -o built writes the folder anew\n" in said.err
    if command in ("test", "deploy"):
        assert said.code == data.code == 2
        assert message in data.json["error"]
    elif command == "show":  # prints what the folder holds
        assert (data.json, message in data.err) == (quiet.json, True)
    else:
        assert said.code == 0
        assert (quiet.json["outdated"], message in data.json["outdated"]) == (None, True)
        assert message not in data.err
    assert stepgen("verilog built -o built").code == 0
    assert "other circuits" not in stepgen(line).err


def test_what_is_advised_works(capsys, here, folder) -> None:
    """Also in a folder named like an example, with files to import and names to quote."""
    (here / "own file.py").write_text("")
    folder.rename(here / "moe")
    made_by_others(here / "moe", "0.0.9")
    line = ["test", "./moe", "--import", "own file.py", "--driver", "cpp", "-o", "t"]
    assert execute(line) == 2
    said = capsys.readouterr().err
    (advised,) = re.findall(r"now; stepgen (.*) writes the folder anew\n", said)
    assert advised == "verilog ./moe -o ./moe --import 'own file.py'"
    assert execute(shlex.split(advised)) == 0
    assert execute(line) == 0
