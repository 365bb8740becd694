"""Every command writes results only to new or regular files, and never over an input."""

from __future__ import annotations

import os
import pty
import re
from collections.abc import Iterator
from pathlib import Path

import fake_tools
import numpy as np
import pytest
from seeds import slow

from stepgen.cli.app import app
from stepgen.cli.outputs import Output

FILES = {
    ("run", "out"): "run p.py:layer --out {}",
    ("run", "save_inputs"): "run p.py:layer --save-inputs {}",
    ("time", "timeline"): "time p.py:layer --timeline {}",
    ("time", "perfetto"): "time p.py:layer --perfetto {}",
    ("time", "out"): "time p.py:layer --scenarios scenarios.npz --out {}",
    ("report", "output"): "report p.py:layer -o {}",
    ("simulate", "timeline"): "simulate p.py:layer --timeline {}",
    ("simulate", "perfetto"): "simulate p.py:layer --perfetto {}",
    ("deploy", "output"): "deploy p.py:layer --board virtual:ulx3s-85f -o {}",
    ("deploy", "report_file"): "deploy p.py:layer --board virtual:ulx3s-85f --report {}",
    ("figure", "page"): "figure 8 --claims --page {}",
    ("figure", "report"): "figure 8 -o f --report {}",
    ("synth", "report"): "synth p.py:layer --board ulx3s-85f --report {}",
    ("build", "report"): "build p.py:layer --board ulx3s-85f --report {}",
    ("import", "out"): "import p.py:mlp -o {}",
    ("quantize", "out"): "quantize config.json --calibrate ids.npy -o {}",
    ("show", "svg"): "show p.py:layer --svg {}",
    ("show", "dot"): "show p.py:layer --dot {}",
    ("talk", "timeline"): "talk --machine rtl --timeline {}",
}
PLACED = [key for key in FILES if key[0] in ("synth", "build")]
DEPLOYED = [key for key in FILES if key[0] == "deploy"]
QUICK = [key for key in FILES if key[0] not in ("deploy", "figure", "synth", "build", "talk")]
FOLDERS = {
    ("verilog", "output"): "verilog p.py:layer -o {}",
    ("test", "output"): "test p.py:layer -o {}",
    ("build", "output"): "build p.py:layer --board ulx3s-85f -o {}",
    ("demo", "output"): "demo --set tokens=4 --set experts=2 -o {}",
    ("figure", "out"): "figure 8 -o {}",
    ("fuzz", "out"): "fuzz --no-rtl --cases 1 -o {}",
}
"""A command line for every output; what it is called in Python."""


pytestmark = pytest.mark.usefixtures("language_model", "scenarios")


@pytest.fixture
def scenarios(here) -> None:
    np.savez(here / "scenarios.npz", latency=[8, 16])


def _outputs() -> dict[tuple[str, str], Output]:
    return {
        (name, str(parameter.name)): parameter.type
        for name, command in app.commands.items()
        for parameter in command.params
        if isinstance(parameter.type, Output)
    }


OUTPUTS = _outputs()


@pytest.fixture(autouse=True)
def tools(request, tmp_path_factory, monkeypatch) -> None:
    """Pages about a board need a circuit on it, not the real tools."""
    named = getattr(request.node, "callspec", None)
    if named is not None and named.params.get("key") in PLACED:
        fake_tools.install(tmp_path_factory.mktemp("tools") / "bin", monkeypatch)


@pytest.fixture
def device() -> Iterator[str]:
    """A character device of the test's own, in a folder in which no file can be made."""
    ends = pty.openpty()
    yield os.ttyname(ends[1])
    for end in ends:
        os.close(end)


def snapshot(folder: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and "__pycache__" not in p.parts
    }


def test_every_output_is_under_test() -> None:
    files = {key for key, output in OUTPUTS.items() if output.suffixes}
    assert files == set(FILES)
    assert set(OUTPUTS) - files == set(FOLDERS)


def test_every_folder_and_file_of_results_is_given_by_o() -> None:
    for name, key in [*FOLDERS, ("run", "out")]:
        option = next(p for p in app.commands[name].params if p.name == key)
        assert {"-o", "--out"} <= set(option.opts), name


@pytest.mark.parametrize("key", FILES, ids=" ".join)
def test_what_is_no_result_is_never_replaced(stepgen, here, device, key) -> None:
    suffix = OUTPUTS[key].suffixes[0]
    (here / f"device{suffix}").symlink_to(device)
    source = "config.json" if key[0] == "quantize" else "p.py"
    (here / f"program{suffix}").symlink_to(source)
    os.link(here / source, here / f"linked{suffix}")
    os.mkfifo(here / f"pipe{suffix}")
    (here / f"folder{suffix}").mkdir()
    before = snapshot(here)
    wanted = {
        "p.py": "is a file that ends in",
        device: "is a file that ends in",
        "x": "is a file that ends in",
        f"device{suffix}": "it is not a regular file",
        f"pipe{suffix}": "it is not a regular file",
        f"folder{suffix}": "it is a folder",
        f"p.py/x{suffix}": "p.py is a file|Not a directory|can't",
    }
    if key[0] not in ("figure", "talk"):  # these read no program
        wanted |= dict.fromkeys(
            (f"program{suffix}", f"linked{suffix}"), "it is an input of the same command"
        )
    for target, sentence in wanted.items():
        said = stepgen(FILES[key].format(target))
        assert said.code == 2, target
        assert any(part in said.err for part in sentence.split("|")), (target, said.err)
        assert snapshot(here) == before
    assert os.path.islink(here / f"device{suffix}")


_LINKED = [key for key in FILES if key[0] not in ("figure", "deploy")]


@pytest.mark.parametrize(
    "key",
    [*_LINKED[:5], *(pytest.param(key, marks=pytest.mark.slow) for key in _LINKED[5:])],
    ids=" ".join,
)
def test_a_symlink_to_a_file_stays_one(stepgen, here, key) -> None:
    suffix = OUTPUTS[key].suffixes[0]
    (here / "deep").mkdir()
    (here / f"deep/real{suffix}").write_text("old")
    (here / f"link{suffix}").symlink_to(f"deep/real{suffix}")
    assert stepgen(FILES[key].format(f"link{suffix}")).code == 0
    assert (here / f"link{suffix}").is_symlink()
    assert (here / f"deep/real{suffix}").read_bytes() != b"old"


@pytest.mark.parametrize(
    "line",
    [
        "run p.py:layer --out x.npz --save-inputs x.npz",
        "run p.py:layer --out x.npz --save-inputs ./x.npz",
        "run p.py:layer --out x.npz --save-inputs link.npz",
    ],
)
def test_two_results_are_two_files(stepgen, here, line) -> None:
    (here / "link.npz").symlink_to("x.npz")
    said = stepgen(line)
    assert said.code == 2
    assert "--save-inputs and --out are the same file" in said.err
    assert not (here / "x.npz").exists()


@pytest.mark.parametrize(
    "line",
    [
        "run p.py:layer --inputs in.npz --out in.npz",
        "run p.py:layer --inputs in.npz --save-inputs in.npz",
        "time layer.json --perfetto layer.json",
        "verilog graph.json -o .",
        "time out --perfetto out/design.json",
        "run out --out out/inputs.npz",
        "verilog out -o out --inputs in.npz",
    ],
)
def test_inputs_are_kept(stepgen, here, line) -> None:
    assert stepgen("run p.py:layer --save-inputs in.npz").code == 0
    for name in ("layer", "graph"):
        (here / f"{name}.json").write_text(stepgen("show p.py:layer --json").out + "\n")
    if " out " in line:
        assert stepgen("verilog p.py:layer -o out").code == 0
    before = snapshot(here)
    said = stepgen(line)
    assert said.code == 2
    assert "it is an input of the same command" in said.err
    assert snapshot(here) == before


@pytest.mark.parametrize("name", ["layer.v", "design.json"])
def test_a_folder_of_results_keeps_what_is_no_result(stepgen, here, device, name) -> None:
    (here / "out").mkdir()
    (here / "out" / name).symlink_to(device)
    said = stepgen("verilog p.py:layer -o out")
    assert said.code == 2
    assert f"can't write out/{name}: it is not a regular file" in said.err
    assert [p.name for p in (here / "out").iterdir()] == [name]


@pytest.mark.parametrize(
    "key",
    [slow((key,)) if key[0] == "deploy" else key for key in (*FILES, *FOLDERS) if key[0] != "talk"],
    ids=" ".join,
)
def test_an_error_in_a_folder_without_write_permission_names_the_given_path(
    stepgen, here, key
) -> None:
    place = f"/proc/x{(*OUTPUTS[key].suffixes, '')[0]}"
    said = stepgen((FILES | FOLDERS)[key].format(place))
    assert said.code == 2
    assert re.search(rf"^stepgen: can't (write|read the page) {place}: No such", said.err, re.M)


@pytest.mark.parametrize("key", FILES, ids=" ".join)
def test_where_no_file_can_be_made_is_reported_before_the_work(
    stepgen, here, key, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"closed/deep/x{OUTPUTS[key].suffixes[0]}"
    (here / "closed").mkdir()
    allowed = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: Path(path).name != "closed" and allowed(path, mode)
    )
    for why in ("Permission denied", "closed is a file"):
        said = stepgen(FILES[key].format(place))
        assert (said.code, said.err) == (2, f"stepgen: can't write {place}: {why}\n")
        if (here / "closed").is_dir():
            (here / "closed").rmdir()
            (here / "closed").touch()
