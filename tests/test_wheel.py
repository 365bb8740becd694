"""The wheel alone, in a clean environment and an empty folder."""

import re
import subprocess
import sys
import sysconfig
import venv
import zipfile

import pytest
from test_docs import SAVED, commands

from stepgen.tools.shipped import shipped


def run(*command, **more):
    """Run a command; its output is in the failure."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def built(folder):
    """The wheel."""
    root = shipped("pyproject.toml").parent
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps")
    run(*pip, "--wheel-dir", str(folder), str(root))
    (wheel,) = folder.glob("*.whl")
    return wheel


def installed(wheel, place, *, alone):
    """Programs of an environment with the wheel and the packages that it asks for.

    Or, if not `alone`, with those that are installed here.
    """
    venv.create(place)
    pip = (sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"))
    run(*pip, "install", "--quiet", *(() if alone else ("--no-deps",)), str(wheel))
    if not alone:
        (own,) = place.glob("lib/*/site-packages")
        (own / "beside.pth").write_text(sysconfig.get_path("purelib"))
    return place / "bin"


@pytest.mark.parametrize(
    "alone", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["beside", "alone"]
)
def test_the_wheel_writes_verilog_from_an_empty_folder(alone, tmp_path):
    """With the packages that are installed here, or with those that it asks for."""
    wheel = built(tmp_path)
    names = zipfile.ZipFile(wheel).namelist()
    for needed in (
        "stepgen/py.typed",
        "stepgen/_shipped/boards/parts/ecp5-85.toml",
        "stepgen/_shipped/examples/moe.py",
        "stepgen/_shipped/sim/verilator/axi_memory.sv",
        "stepgen/_shipped/templates/bench/bench.py.j2",
    ):
        assert needed in names

    bin = installed(wheel, tmp_path / "clean", alone=alone)
    empty = tmp_path / "empty"
    empty.mkdir()
    sizes = {"experts": 2, "tokens": 4, "width": 8, "hidden": 8, "columns": 8}
    small = [word for name, size in sizes.items() for word in ("--set", f"{name}={size}")]
    run(str(bin / "stepgen"), "verilog", "moe", *small, "-o", "out", cwd=empty)
    verilog = list((empty / "out").glob("*.v"))
    assert len(verilog) == 1
    assert "module moe_dynamic(" in verilog[0].read_text()


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Those of an environment with the wheel."""
    place = tmp_path_factory.mktemp("wheel")
    return installed(built(place), place / "clean", alone=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["first-program", "perceptron", "deadlock", "report"])
def test_a_tutorial_is_followed_with_the_wheel(programs, name, tmp_path):
    """As written, from an empty folder."""
    page = shipped("docs/tutorials") / f"{name}.md"
    for file, body in SAVED.findall(page.read_text()):
        (tmp_path / file).write_text(body)
    for command in commands(page):
        line = [str(programs / command.words[0]), *command.words[1:]]
        done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=tmp_path)
        printed = {said.rstrip() for said in done.stdout.splitlines()}
        assert [said for said in command.shown if said not in printed] == [], (command, done)
        if command.refused is None:
            assert done.returncode == 0, (command, done.stderr)
        else:
            wanted = re.escape(command.refused).replace(re.escape("..."), ".*")
            assert done.returncode == 2, command
            assert re.fullmatch(wanted, done.stderr.splitlines()[-1]), (command, done.stderr)
