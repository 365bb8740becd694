"""The wheel alone, in a clean environment and an empty folder."""

import subprocess
import sys
import sysconfig
import venv
import zipfile

import pytest

from stepgen.tools.shipped import shipped


def run(*command, **more):
    """Run a command; its output is in the failure."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "alone", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["beside", "alone"]
)
def test_the_wheel_writes_verilog_from_an_empty_folder(alone, tmp_path):
    """With the packages that are installed here, or with those that it asks for."""
    root = shipped("pyproject.toml").parent
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps")
    run(*pip, "--wheel-dir", str(tmp_path), str(root))
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for needed in (
        "stepgen/py.typed",
        "stepgen/_shipped/boards/parts/ecp5-85.toml",
        "stepgen/_shipped/examples/moe.py",
        "stepgen/_shipped/sim/verilator/axi_memory.sv",
        "stepgen/_shipped/templates/bench/bench.py.j2",
    ):
        assert needed in names

    venv.create(tmp_path / "clean", with_pip=True)
    bin = tmp_path / "clean" / "bin"
    more = () if alone else ("--no-deps",)
    run(str(bin / "python"), "-m", "pip", "install", "--quiet", *more, str(wheel))
    if not alone:
        (own,) = (tmp_path / "clean").glob("lib/*/site-packages")
        (own / "beside.pth").write_text(sysconfig.get_path("purelib"))
    empty = tmp_path / "empty"
    empty.mkdir()
    sizes = {"experts": 2, "tokens": 4, "width": 8, "hidden": 8, "columns": 8}
    small = [word for name, size in sizes.items() for word in ("--set", f"{name}={size}")]
    run(str(bin / "stepgen"), "verilog", "moe", *small, "-o", "out", cwd=empty)
    verilog = list((empty / "out").glob("*.v"))
    assert len(verilog) == 1
    assert "module moe_dynamic(" in verilog[0].read_text()
