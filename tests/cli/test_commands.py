"""The output of each command."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import click
import numpy as np
import pytest

import stepgen as sg
from stepgen.cli.app import app
from stepgen.cosim import experiment
from stepgen.hw.design.table import Design
from stepgen.ir import text
from stepgen.ir.versions import version

MOE = "moe --set tokens=8 --set experts=2 --set width=16 --set hidden=16 --set columns=8"


ROOT = Path(sg.__file__).parents[1]
ALONE = {**os.environ, "PYTHONPATH": str(ROOT)}
"""Environment of a process of its own."""


def test_help_is_quick():
    code = (
        "import sys; from stepgen.cli.app import execute; execute(['--help']);"
        "print(sorted(m for m in ('numba', 'matplotlib', 'amaranth', 'cocotb', 'jinja2') "
        "if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=ALONE, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "demo" in done.stdout


def test_the_help_has_every_option_once_and_in_its_section(stepgen):
    for name, command in app.commands.items():
        shown = stepgen(f"{name} --help").out
        for parameter in (p for p in command.params if isinstance(p, click.Option)):
            found = re.findall(rf"^  (?:-\w, )?{parameter.opts[-1]}\b(?!-)", shown, re.MULTILINE)
            assert len(found) == 1, (name, parameter.opts)
    shown = stepgen("test --help").out
    sections = re.findall(r"^(\w.*):$", shown, re.MULTILINE)
    assert sections[1:] == ["Options", "The circuit", "The off-chip memory", "Stalls"]


def test_version_and_bare_call(stepgen):
    assert "Usage: stepgen" in stepgen("").out
    assert stepgen("--version").out.startswith("stepgen")


def test_show_marks_what_has_no_circuit(stepgen):
    said = stepgen("show p.py:soft")
    assert (said.code, re.findall(r"^! (\w+) ", said.out, re.M)) == (0, ["map_0", "has"])
    _, reasons = said.out.split("\n\n! has no circuit as it is used here:\n")
    refused = stepgen("time p.py:soft").err.splitlines()[-1].removeprefix("stepgen: ")
    assert reasons == f"  {refused}\n"
    assert "!" not in stepgen("show p.py:layer").out


def test_show(stepgen):
    said = stepgen("show p.py:layer")
    assert said.code == 0
    assert "partition_0  " in said.out
    assert "Stream[int8 1x8; E0]" in said.out
    graph = text.loads(stepgen("show p.py:layer --json").out)
    assert isinstance(graph, sg.Graph)
    assert str(graph) + "\n" == said.out


def test_show_design(stepgen):
    said = stepgen("show p.py:layer --design")
    assert "map_0" in said.out
    assert "blockram" not in said.out
    deeper = stepgen("show p.py:layer --design --json --depth x=100")
    assert Design.from_json(deeper.out).channel["x"].depth == 100


def test_show_draws(stepgen, here):
    said = stepgen("show p.py:layer --svg g.svg --dot g.dot")
    assert (said.code, said.out) == (0, "written to g.svg\nwritten to g.dot\n")
    assert 'data-name="partition_0"' in (here / "g.svg").read_text()
    assert '"partition_0" -> ' in (here / "g.dot").read_text()


def test_show_draws_the_circuit(stepgen, here):
    said = stepgen("show p.py:layer --design --lanes 2 --svg g.svg --dot g.dot --json").json
    assert said["files"] == {"svg": "g.svg", "dot": "g.dot"}
    drawn = (here / "g.svg").read_text()
    for part in ("linear_offchip_load_0", "partition_0", "depth 2"):
        assert part in drawn, part
    assert '"partition_0" -> ' in (here / "g.dot").read_text()
    assert stepgen("show p.py:layer --svg other.svg").code == 0
    assert (here / "other.svg").read_text() != drawn


def test_a_function_that_returns_a_model_is_shown_by_its_layers(stepgen, here):
    layers = stepgen("show p.py:mlp").out
    assert stepgen("import p.py:mlp -o mlp.stepgen").code == 0
    assert stepgen("show mlp.stepgen").out == layers
    assert stepgen("show p.py:mlp --set cache=16 --json").json["operations"]
    assert "Stream" in stepgen("show p.py:mlp --set columns=4").out
    assert "has no parameter 'depth'" in stepgen("show p.py:mlp --set depth=4").err


def test_show_says_what_does_not_go_with_a_drawing(stepgen, here):
    (here / "is.svg").mkdir()
    for options, why in (
        ("--all", "--all is for drawings: add --svg or --dot"),
        ("--svg a.svg --lanes 2", "--lanes is for the circuit: add --design"),
        ("--svg is.svg", "can't write is.svg: it is a folder"),
        ("--svg g.png", "--svg is a file that ends in .svg, not g.png"),
    ):
        said = stepgen(f"show p.py:layer {options}")
        assert (said.code, said.err) == (2, f"stepgen: {why}\n")


def test_a_saved_graph_is_a_program(stepgen, here):
    (here / "g.json").write_text(stepgen("show p.py:layer --json").out)
    assert stepgen("show g.json").out == stepgen("show p.py:layer").out


@pytest.mark.parametrize("policy", ["paper", "published", "hardware"])
def test_metrics(stepgen, policy):
    said = stepgen(f"metrics p.py:layer --policy {policy}")
    assert said.code == 0
    assert f"accounting model {policy}" in said.out
    data = stepgen(f"metrics p.py:layer --policy {policy} --json").json
    assert data["dims"]["E0"] == 3
    # One weight of 8x4 and three rows of 4; published counts what is stored in 4 bytes.
    stored = 4 * 4 * 3 if policy == "published" else 4 * 3
    rounded = -(-stored // 8) * 8 if policy == "hardware" else stored
    assert data["numbers"]["traffic"] == 32 + rounded
    assert data["numbers"]["flops"] >= 2 * 3 * 8 * 4


def test_metrics_without_traffic(stepgen, here):
    np.savez(here / "in.npz", x=np.zeros((5, 1, 4)))
    said = stepgen("metrics p.py:dynamic --inputs in.npz --json")
    assert said.json["numbers"]["traffic"] == 0
    assert said.json["numbers"]["intensity"] is None


FREE = """
import stepgen as sg


def free():
    g = sg.Graph("free")
    g.output(g.input("x", sg.int8[1, 4], ("N",)).map(sg.fn.at_least(0)), "y")
    return g
"""


def test_metrics_of_any_number_of_rows(stepgen, here):
    """Formulas need no inputs, which the program does not return and nobody gives."""
    (here / "free.py").write_text(FREE)
    said = stepgen("metrics free.py:free")
    assert said.code == 0
    assert "4*N" in said.out
    assert re.search(r"^no numbers: the input x is .*N.*--dim N=\.\.\., return it", said.out, re.M)
    numbers = stepgen("metrics free.py:free --dim N=7 --json").json
    assert (numbers["dims"], numbers["numbers"]["flops"]) == ({"N": 7}, 4 * 7)


def test_dims_of_drawn_inputs(stepgen, here):
    assert stepgen("run p.py:dynamic --dim N=7 --save-inputs in.npz").code == 0
    stops = np.load(here / "in.npz")["x/stops"]
    for command in ("run", "time", "simulate", "metrics"):
        drawn = stepgen(f"{command} p.py:dynamic --dim N={len(stops)} --json")
        assert drawn.code == 0
        given = stepgen(f"{command} p.py:dynamic --inputs in.npz --json").json
        assert {**drawn.json, "settings": {}} == {**given, "settings": {}}
    said = stepgen("run p.py:dynamic --dim N=7 --inputs in.npz")
    assert (said.code, said.out) == (2, "")
    assert said.err.endswith("stepgen: --dim N is for drawn inputs, and x is given\n")
    assert stepgen("verilog p.py:dynamic -o rtl").code == 0
    assert stepgen("run rtl --dim N=2 --json").json["streams"]["y"]["values"] == 2


def test_run(stepgen, here):
    said = stepgen("run p.py:layer --out out.npz --save-inputs in.npz")
    assert said.code == 0
    assert "drawn: w, x (seed 0)" in said.out
    assert "out: Stream[int8 1x4; E0], 3 values" in said.out
    given, out = np.load("in.npz"), np.load("out.npz")
    x, w = given["x/values"].reshape(4, 8), given["w"]
    assert np.array_equal(given["gate/values"][:, 0], [1, 0, 1, 1])
    exact = x[[0, 2, 3]].astype(int) @ w.astype(int)
    expected = np.clip(np.rint(exact / 16), -128, 127)
    assert np.array_equal(out["y"][:3], expected)
    assert np.array_equal(out["out/values"].reshape(3, 4), expected)
    assert out["out/stops"].tolist() == [0, 0, 0]

    again = stepgen("run p.py:layer --inputs in.npz --out again.npz --seed 7 --json")
    assert np.array_equal(np.load("again.npz")["y"], out["y"])
    assert again.json["streams"]["out"]["values"] == 3
    stepgen("run p.py:layer --out other.npz --seed 7")
    assert not np.array_equal(np.load("other.npz")["y"], out["y"])


def test_run_shows_rows_of_floats_and_streams(stepgen):
    said = stepgen("run p.py:soft")
    assert "y: Stream[f32 1x4; 2], 2 values" in said.out
    assert said.out.rstrip().endswith("D")


def test_routing(stepgen, here):
    (here / "r.csv").write_text("\n".join(["0,1"] * 8))
    data = stepgen(f"metrics {MOE} --routing r.csv --json").json
    assert data["dims"] == {"E0": 8, "E1": 8}
    (here / "r.csv").write_text("\n".join(["1"] * 8))
    data = stepgen(f"metrics {MOE} --set top=1 --routing r.csv --json").json
    assert data["dims"] == {"E0": 0, "E1": 8}


def test_lengths(stepgen, here):
    (here / "n.csv").write_text("40\n3\n")
    data = stepgen("metrics attention --set softmax=published --lengths n.csv --json").json
    assert data["dims"] == {"sum_L0_0": 3}
    data = stepgen("metrics attention --set data=false --lengths n.csv --json").json
    assert data["dims"] == {"L0": 2, "sum_L0_0": 3}


def test_full_size_needs_no_weights(stepgen):
    data = stepgen("metrics moe_swiglu --set model=mixtral --set data=false --json").json
    assert data["numbers"]["traffic"] > 2e9


def test_time(stepgen, here):
    said = stepgen(f"time {MOE} --timeline t.png --perfetto t.json")
    assert said.code == 0
    assert "matmul" not in said.err
    assert (here / "t.png").read_bytes()[:4] == b"\x89PNG"
    assert json.loads((here / "t.json").read_text())["traceEvents"]
    data = stepgen(f"time {MOE} --json").json
    assert f"{data['cycles']:,} cycles" in said.out
    moved = data["off_chip_bytes"]
    assert moved["symbolic"] == moved["model"] == moved["read"] + moved["written"] > 0
    for unit in data["units"]:
        assert unit["busy"] + unit["starved"] + unit["full"] == data["cycles"]
    assert len(stepgen(f"time {MOE} --all").out) > len(said.out)


def test_time_depends_on_memory_stalls_and_depths(stepgen):
    def cycles(options: str) -> int:
        return stepgen(f"time p.py:layer --json {options}").json["cycles"]

    base = cycles("")
    assert cycles("--latency 100") > base
    assert cycles("--interval 7") > base
    assert cycles("--write-latency 90") > base
    assert cycles("--stall x=0.9") > base
    assert cycles("--stall all=0.9") > cycles("--stall x=0.9")
    assert cycles("--stall x=0.9 --seed 1") != cycles("--stall x=0.9 --seed 2")
    assert cycles("--bus-bits 32") > base
    assert cycles("--lanes 2") > base
    assert cycles("--depth x=70") > base  # block RAM takes longer


def test_verilog(stepgen, here):
    said = stepgen("verilog p.py:layer -o out/deep --lanes 2 --json").json
    files = {"verilog": "layer.v", "lint waivers": "layer.vlt", "design": "design.json"}
    files |= {"graph": "graph.json", "inputs": "inputs.npz", "registers": "layer_registers.h"}
    files["map"] = "layer_map.json"
    assert {k: said[k] for k in files} == {what: f"out/deep/{name}" for what, name in files.items()}
    assert said["built"]
    lines = (here / "out/deep/layer.v").read_text().splitlines()
    assert lines[0] == f"// layer: stepgen {version()}, hash of the design {said['hash']}"
    assert any(line.startswith("module layer(") for line in lines)
    assert "#define LAYER_STATUS_DONE" in (here / "out/deep/layer_registers.h").read_text()
    design = json.loads((here / "out/deep/design.json").read_text())
    assert design["hash"] == said["hash"]
    assert Design.from_json(json.dumps(design["design"])).lanes == 2
    assert sorted(p.name for p in (here / "out/deep").iterdir()) == sorted(files.values())


@pytest.mark.slow
def test_test(stepgen, here):
    options = "--driver cpp --counters units --waveform --stall all=0.2"
    said = stepgen(f"test p.py:layer {options} -o t --json")
    assert said.code == 0
    data = said.json
    assert data["good"]
    assert data["cycles"]["predicted"] == data["cycles"]["simulated"]
    assert all(data["compared"].values())
    assert data["waveform"] == "t/layer.fst"
    assert (here / data["waveform"]).stat().st_size > 0
    assert (here / "t" / "interface.json").exists()


def test_the_judge_does_not_compare_times(stepgen, monkeypatch):
    def judge(experiments, folder, *, driver, **_):
        outcome = SimpleNamespace(faults=[], cycles=9, seconds=0.1, good=True)
        compared = dict.fromkeys(("values", "cycles", "memory", "counters"), 3)
        return [experiment.Verdict(outcome, one.prediction, compared, 0.0) for one in experiments]

    monkeypatch.setattr(experiment, "simulate", judge)
    said = stepgen("test p.py:layer --driver judge")
    assert "cycles           9 in the RTL, not compared" in said.out
    assert "counters" not in said.out
    said = stepgen("test p.py:layer --driver judge --json")
    assert said.json["compared"] == {"values": 3, "memory": 3}


def test_test_fails_with_exit_code_1(stepgen, monkeypatch):
    def differ(experiments, folder, **_):
        outcome = SimpleNamespace(
            faults=["channel x: beat 0 was pushed in cycle 2"], cycles=9, seconds=0.1, good=False
        )
        compared = {"values": 3}
        return [experiment.Verdict(outcome, one.prediction, compared, 0.0) for one in experiments]

    monkeypatch.setattr(experiment, "simulate", differ)
    said = stepgen("test p.py:layer")
    assert said.code == 1
    assert "differs\n  channel x: beat 0 was pushed in cycle 2\n" in said.out
    assert stepgen("test p.py:layer --json").json["faults"]


def test_doctor(stepgen):
    said = stepgen("doctor --json")
    tools = {t["name"]: t for t in said.json["tools"]}
    assert said.code == 0
    assert tools["verilator"]["path"]
    assert tools["verilator"]["version"] in stepgen("doctor").out


def test_doctor_says_what_to_do(stepgen, monkeypatch):
    from stepgen.tools import external

    lost = external.Tool("verilator", "simulates", "python", None, None, True, "install it again")
    monkeypatch.setattr(external, "find_all", lambda: (lost,))
    said = stepgen("doctor")
    assert said.code == 1
    assert "verilator (needed, simulates): install it again" in said.out


@pytest.mark.parametrize("arguments", [["show", "moe"], ["--version"]])
def test_nothing_is_said_to_a_reader_that_left(here, arguments):
    code = "from stepgen.cli import main; main()"
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, env=ALONE, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert done.stderr == ""
    assert done.returncode in (0, 1)


def test_interrupted(stepgen, monkeypatch):
    from stepgen.program import program

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "load", stop)
    assert stepgen("show moe").code == 130


def test_a_program_without_off_chip_traffic_is_reported_in_words(stepgen) -> None:
    shown = stepgen("metrics p.py:soft")
    assert shown.out.endswith(" operations, nothing goes off chip\n")
    assert "None" not in shown.out


def test_functions_are_fused_or_not(stepgen, here):
    (here / "f.py").write_text(
        """
import stepgen as sg


def chain():
    g = sg.Graph("chain")
    x = g.input("x", sg.int8[2, 4], (3,))
    y = x.map(sg.fn.at_least(0), name="relu").map(sg.fn.square(), name="energy")
    g.output(y, "y")
    return g
"""
    )
    shown = stepgen("show f.py:chain --design")
    assert re.search(r"Fused\s+operator +is part of", shown.out)
    assert re.search(r"relu +energy", shown.out)
    assert "maximum(" in shown.out
    assert "'operands'" not in shown.out
    assert stepgen("show f.py:chain --design --json").json["fused"] == {"relu": "energy"}
    unfused = stepgen("show f.py:chain --design --json --no-fuse").json
    assert not unfused["fused"]
    assert {"relu", "energy"} <= {unit["name"] for unit in unfused["units"]}
    cycles = [stepgen(f"time f.py:chain --json {how}").json["cycles"] for how in ("", "--no-fuse")]
    assert cycles[0] < cycles[1]
    assert stepgen("verilog f.py:chain -o built").code == 0
    refused = stepgen("show built --design --no-fuse")
    assert refused.code == 2
    assert "--no-fuse can't be given: the design in built is finished" in refused.err
