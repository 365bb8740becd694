from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from stepgen.cosim import building, verilator
from stepgen.cosim.case import Case, write_cases
from stepgen.cosim.render import bench_signals, render
from stepgen.cosim.testbench import run_cocotb
from stepgen.cosim.verilator import build, run_driver
from stepgen.emit.interface import Interface, MemoryPort, StreamPort
from stepgen.ir.errors import StepError
from stepgen.ir.stalls import Stalls
from stepgen.tools.cache import cache_folder
from stepgen.tools.shipped import shipped

INTERFACE = Interface(
    "plain",
    (StreamPort("x", "in", 1, 8, 1, 8), StreamPort("y", "out", 1, 8, 1, 8)),
    control=False,
)
DESIGN = """
module plain (
    input clk, input rst, input running,
    input x_valid, output x_ready, input [10:0] x_payload,
    output y_valid, input y_ready, output [10:0] y_payload
);
  reg full;
  reg [10:0] held;
  assign {y_valid, x_ready, y_payload} = {full, !full, held};
  always @(posedge clk) begin
    if (x_valid && x_ready) held <= x_payload;
    full <= !rst && (full ? !y_ready : x_valid);
  end
endmodule
"""


def test_an_unchanged_design_is_not_built_again() -> None:
    first = build(INTERFACE, DESIGN)
    said: list[tuple[str, float]] = []
    second = build(INTERFACE, DESIGN, progress=lambda what, share: said.append((what, share)))
    assert second.folder == first.folder
    assert second.seconds == 0
    assert said == [("simulation is up to date", 1.0)]


def test_what_goes_into_a_simulation_decides_where_it_lies(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STEPGEN_CACHE", str(tmp_path))
    built: list[object] = []

    def no_build(*arguments: object) -> float:
        built.append(arguments)
        return 1.0

    monkeypatch.setattr(verilator, "_build_in", no_build)
    probed = Interface("plain", INTERFACE.ports, ("c",), control=False)
    variants = [
        (INTERFACE, DESIGN, "fast-build", False),
        (INTERFACE, DESIGN + " ", "fast-build", False),
        (INTERFACE, DESIGN, "fast-build", True),
        (INTERFACE, DESIGN, "fast-run", False),
        (probed, DESIGN, "fast-build", False),
    ]
    folders = set()
    for _ in range(2):
        for interface, text, opt, trace in variants:
            folders.add(build(interface, text, opt=opt, trace=trace).folder)
    assert len(built) == len(folders) == len(variants)
    # names of channels are not in the circuit
    renamed = Interface("plain", INTERFACE.ports, ("other",), control=False)
    assert build(renamed, DESIGN).folder in folders
    assert {p.name for p in (tmp_path / "builds").iterdir()} == {p.name for p in folders}


def test_a_broken_design_is_reported_in_one_sentence() -> None:
    with pytest.raises(StepError, match=r"Verilator failed .*%Error: design\.v:2:.*syntax error"):
        build(INTERFACE, "module plain;\n  assign = 3;\nendmodule\n")
    known = "opt must be one of fast-build, fast-run, least-build.*, not 'quick'"
    with pytest.raises(StepError, match=known):
        build(INTERFACE, "", opt="quick")


LEAKS = """
module leaks (
    input clk, input rst, input running,
    input x_valid, output x_ready, input [7:0] x_payload,
    output y_valid, input y_ready, output [15:0] y_payload
);
  reg [7:0] written_by_nobody;
  assign x_ready = 1;
  assign y_valid = running;
  assign y_payload = {written_by_nobody, x_valid ? 8'h00 : x_payload};
endmodule
"""


@pytest.mark.slow
def test_uninitialised_values_are_drawn(tmp_path: Path) -> None:
    """Both drivers find a design that uses a payload that is not valid, or never written."""
    ports = (
        StreamPort("x", "in", 1, 8, 0, 8, raw=True),
        StreamPort("y", "out", 2, 8, 0, 16, raw=True),
    )
    simulation = build(Interface("leaks", ports, control=False), LEAKS)
    rows = np.zeros((40, 1), np.uint8)
    case = Case("a", {"x": rows}, {"y": np.zeros((60, 2), np.uint8)}, stalls=Stalls(0, {"x": 0.5}))
    seen = []
    for run in (run_driver, run_cocotb):
        for seed in (1, 2, 2):
            write_cases(tmp_path, simulation.interface, [case])
            (outcome,) = run(simulation, tmp_path, seed=seed)
            seen.append(outcome.outputs["y"])
            assert len(set(seen[-1][:, 0].tolist())) > 8
    for first, second, again in (seen[:3], seen[3:]):
        assert np.array_equal(second, again)
        assert not np.array_equal(first[:, 0], second[:, 0])
        assert first[0, 1] != second[0, 1]


def test_the_least_build_does_what_others_do(tmp_path: Path) -> None:
    rows = np.zeros((40, 1), np.uint8)
    ports = (
        StreamPort("x", "in", 1, 8, 0, 8, raw=True),
        StreamPort("y", "out", 2, 8, 0, 16, raw=True),
    )
    case = Case("a", {"x": rows}, {"y": np.zeros((60, 2), np.uint8)}, stalls=Stalls(0, {"x": 0.5}))
    outputs = []
    for opt in ("fast-build", "least-build"):
        simulation = build(Interface("leaks", ports, control=False), LEAKS, opt=opt)
        assert simulation.cocotb.exists() == (opt == "fast-build")
        write_cases(tmp_path, simulation.interface, [case])
        (outcome,) = run_driver(simulation, tmp_path, seed=2)
        outputs.append(outcome.outputs["y"])
    # Idle wires are the driver's; memories that nobody has written are drawn in another order.
    assert np.array_equal(outputs[0][:, 0], outputs[1][:, 0])


def test_every_public_port_is_in_the_wrapper() -> None:
    for interface in (INTERFACE, Interface("d", INTERFACE.ports, ("c",), MemoryPort())):
        text = render("bench.sv.j2", interface, formed=())
        header = re.sub(r"//.*", "", text[: text.index(");")])
        ports = re.findall(r"(input|output) +logic +(?:\[\d+:\d+\])? *(\w+)", header)
        inputs, outputs = bench_signals(interface)
        assert sorted(ports) == sorted(
            [("input", s) for s in inputs] + [("output", s) for s in outputs]
        )


def test_files_that_ship() -> None:
    assert shipped("sim/verilator/axi_memory.sv").exists()
    with pytest.raises(StepError, match="lacks sim/no-such-file; install it again"):
        shipped("sim/no-such-file")


def test_the_cache_can_be_put_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STEPGEN_CACHE", str(tmp_path / "here"))
    assert cache_folder() == tmp_path / "here"
    monkeypatch.delenv("STEPGEN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if cache_folder().parent.name != "Caches":
        assert cache_folder() == tmp_path / "stepgen"


@pytest.mark.slow
def test_folders_with_spaces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    objects = cache_folder() / "objects"
    monkeypatch.setenv("STEPGEN_CACHE", str(tmp_path / "my cache"))
    (tmp_path / "my cache").mkdir()
    (tmp_path / "my cache" / "objects").symlink_to(objects)  # they take long
    simulation = build(INTERFACE, DESIGN)
    rows = np.array([[8, 0], [12, 0], [2, 0]], np.uint8)
    folder = tmp_path / "my run"
    write_cases(folder, INTERFACE, [Case("a", {"x": rows}, {"y": rows})])
    for run in (run_driver, run_cocotb):
        (outcome,) = run(simulation, folder)
        assert outcome.faults == []
        assert outcome.record is not None
        assert outcome.record.pushes["port:y"].tolist() == [1, 3, 5]
    assert not list(simulation.folder.glob("*.o"))


def test_names_of_folders_that_are_no_ascii_are_read() -> None:
    """Verilator escapes their bytes in octal, as JSON does not."""
    said = rb'{"sources": {"global": ["/caf\303\251/a.cpp"]}}'
    assert building._made(said) == {"global": ["/café/a.cpp"]}


@pytest.mark.slow  # builds what all simulations share once more
def test_a_cache_folder_may_have_any_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "caché größe 缓存 it's"
    monkeypatch.setenv("STEPGEN_CACHE", str(folder))
    simulation = build(INTERFACE, DESIGN)
    assert simulation.folder.is_relative_to(folder)
    done = np.array([[2, 0]], np.uint8)
    write_cases(tmp_path / "run", INTERFACE, [Case("any", {"x": done}, {"y": done}, limit=50)])
    for outcome in (
        *run_driver(simulation, tmp_path / "run"),
        *run_cocotb(simulation, tmp_path / "run"),
    ):
        assert outcome.good, outcome.faults
