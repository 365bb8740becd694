"""Core files, as FuseSoC itself reads them: lint, simulation, use in another core."""

from __future__ import annotations

import json
import re
from pathlib import Path

import find_libpython
import numpy as np
import pytest
import yaml
from build_flows import FuseSoC
from cocotb_tools import config
from icarus import needs_icarus
from own_kernels import own_kernels
from seeds import some_slow

import stepgen as sg
from stepgen.cosim.experiment import Experiment
from stepgen.cosim.standalone import needed, write_bench
from stepgen.emit.design_writer import write
from stepgen.program.design_folder import read_manifest
from stepgen.program.program import Program


def plain() -> Program:
    """Rows that leave as they come, which is soon built; the name is a keyword of Verilog."""
    g = sg.Graph("release")
    g.output(g.input("x", sg.int8[1, 4], (3,)).promote(), "y")
    return Program(g, {"x": np.arange(12, dtype=np.int8).reshape(3, 1, 4)})


HERE = ("--cores-root", ".")


def with_memory(kernels: bool) -> sg.Graph:
    """A tensor and streams; maybe a Verilog kernel that includes a file and one in SystemVerilog.

    The name ``memory`` is one that stepgen uses itself.
    """
    g = sg.Graph("kernels" if kernels else "memory")
    x = g.input("x", sg.int8[1, 8], (3,))
    gate = g.input("gate", sg.Selector(1), (3,))
    w = g.tensor("w", (8, 8), sg.int8)
    loaded = sg.linear_offchip_load(w, tile=(8, 8), shape=(1,), stride=(1,), ref=x)
    product = x.map(sg.fn.matmul(), loaded.flatten(0, 1)).map(sg.fn.requantize(shift=4))
    (passed,) = sg.partition(product, gate, rank=0)
    g.output(passed.map(sg.fn.clamp()) if kernels else passed, "y")
    if kernels:
        g.output(x.map(sg.fn.larger(), x), "z")
    return g


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Writes design folders of `with_memory`, whose Verilog is made once."""
    with own_kernels():
        known = {}
        for kernels in (False, True):
            program = Program(with_memory(kernels), {})
            design = Experiment(program.graph, {}).design
            place = tmp_path_factory.mktemp("folder")
            write(place, program, design)
            known[design.name] = (program, design, place)

        def made(place: Path, **more) -> Path:
            program, design, earlier = known[place.name]
            write(place, program, design, packages=["fusesoc"], earlier=[earlier], **more)
            return place

        yield made


def written(folder: Path, program: Program) -> Path:
    """A design folder with a core file and a bench."""
    experiment = Experiment(program.graph, program.inputs)
    write(folder, program, experiment.design, packages=["fusesoc"], bench=needed(experiment))
    write_bench(folder, experiment)
    return folder


def name(design: str) -> str:
    return f"stepgen:designs:{design}:1.0.0"


@pytest.mark.slow
def test_the_bench_runs_and_what_is_wrong_fails(tmp_path):
    folder = written(tmp_path / "release", plain())
    fusesoc = FuseSoC(tmp_path)
    said = fusesoc(*HERE, "run", "--target=sim", name("release"))
    assert "TESTS=2 PASS=2 FAIL=0" in said
    assert said.count("values and cycles as predicted") == 4
    assert "No tests were discovered" not in said

    path = folder / "bench" / "stimulus.npz"
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **{**arrays, "x/values": arrays["x/values"] + 1})
    assert "FAIL=2" in fusesoc(*HERE, "run", "--target=sim", name("release"), fails=True)

    (folder / "bench" / "release_bench.py").write_text("import nothing_of_this_name\n")
    said = fusesoc(*HERE, "run", "--target=sim", name("release"), fails=True)
    assert "No module named 'nothing_of_this_name'" in said


@pytest.mark.slow
@needs_icarus
def test_the_bench_runs_on_icarus(tmp_path):
    written(tmp_path / "release", plain())
    fusesoc = FuseSoC(tmp_path)
    users = [find_libpython.find_libpython(), config.pygpi_entry_point()]
    fusesoc.environment["GPI_USERS"] = ";".join(map(str, users))
    said = fusesoc(*HERE, "run", "--target=sim", name("release"), "--tool", "icarus")
    assert "TESTS=2 PASS=2 FAIL=0" in said


@pytest.mark.parametrize("wraps", some_slow([["wishbone", "axi"], [], ["axi"], ["wishbone"]], 1))
def test_the_verilog_has_no_warnings(wraps, folders, tmp_path):
    folder = folders(tmp_path / "memory", wraps=wraps)
    fusesoc = FuseSoC(tmp_path)
    fusesoc(*HERE, "run", "--target=lint", name("memory"))
    around = folder / (f"memory_{wraps[-1]}.v" if wraps else "memory.v")
    head, _, tail = around.read_text().rpartition("endmodule")
    around.write_text(f"{head}  wire nobody_asks = 1'b1;\nendmodule{tail}")
    assert "nobody_asks" in fusesoc(*HERE, "run", "--target=lint", name("memory"), fails=True)


def test_warnings_of_kernels_are_reported(folders, tmp_path):
    folders(tmp_path / "kernels", wraps=["axi"])
    said = FuseSoC(tmp_path)(*HERE, "run", "--target=lint", name("kernels"))
    warned = re.findall(r"^%Warning-\w+: \S*/([\w.]+):", said, re.MULTILINE)
    assert set(warned) == {"clamp.sv", "larger.v"}


def test_another_core_uses_the_design(folders, tmp_path):
    """Files, top module and waivers reach it, but nothing of the bench."""
    folder = folders(tmp_path / "kernels", wraps=["axi"], host=True, bench=["bench/x.py"])
    listed = read_manifest(folder).files
    assert "kernels.core" in listed
    (tmp_path / "soc.core").write_text(
        "CAPI=2:\n"
        "name: user:socs:soc:0.1\n"
        "filesets:\n"
        "  rtl: {file_type: verilogSource, files: [soc.v], depend: ['stepgen:designs:kernels']}\n"
        "targets:\n"
        "  default: &own {filesets: [rtl], toplevel: soc}\n"
        "  lint: {<<: *own, flow: lint, flow_options: {tool: verilator}}\n"
    )
    (tmp_path / "soc.v").write_text(
        "module soc (input wire clk, input wire rst, output wire irq);\n"
        "  kernels_axi kernels (.aclk(clk), .aresetn(!rst), .irq(irq));\n"
        "endmodule\n"
    )
    fusesoc = FuseSoC(tmp_path)
    assert "lint" in fusesoc(*HERE, "core-info", name("kernels"))
    said = fusesoc(
        *HERE, "run", "--target=lint", "user:socs:soc", fails=True
    )  # most pins are missing
    assert "PINMISSING" in said
    assert "%Error:" not in said.replace("%Error: Exiting due to", "")
    place = tmp_path / "build" / "user_socs_soc_0.1"
    (described,) = place.glob("lint/*.eda.yml")
    files = {Path(file["name"]).name for file in yaml.safe_load(described.read_text())["files"]}
    assert files == {"soc.v", *listed} - OTHERS


OTHERS = {"graph.json", "kernels_map.json", "kernels_host.c", "kernels.core"}
"""Of the folder, what a core that depends on the design does not get."""


def test_the_host_library_is_a_target(folders, tmp_path):
    fusesoc = FuseSoC(tmp_path)
    for host in (True, False):
        folders(tmp_path / "kernels", host=host)
        assert ("host    :" in fusesoc(*HERE, "core-info", name("kernels"))) == host


def test_the_bench_of_a_core_is_what_simulations_need(tmp_path):
    folder = written(tmp_path / "release", plain())
    named = [
        line for line in (folder / "release.core").read_text().splitlines() if "bench/" in line
    ]
    there = {f"bench/{p.relative_to(folder / 'bench')}" for p in folder.glob("bench/**/*.*")}
    listed = {next(iter(json.loads(line.strip().removeprefix("- ")))) for line in named}
    left = {"Makefile", "README.md", "ports.vlt", "pytest.ini", "test_release.py", "written.json"}
    assert there - listed <= {f"bench/{file}" for file in left}
    assert listed <= there
