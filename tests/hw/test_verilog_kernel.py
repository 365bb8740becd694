"""Units that are Verilog modules of a user's own: checked in Verilator like every other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator
from own_kernels import FOLDER, own_kernels

import stepgen as sg
from stepgen.cli.app import execute
from stepgen.compile.lower import lower
from stepgen.cosim.experiment import Experiment, simulate
from stepgen.cosim.verdict import Verdict
from stepgen.emit.elaborate import verilog
from stepgen.emit.kernels import kernel_files
from stepgen.hw.accelerator import Accelerator
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.table import Design
from stepgen.hw.sources import circuits
from stepgen.hw.system import System
from stepgen.hw.verilog_kernel.params import VerilogKernel, defined
from stepgen.ir.stalls import Stalls
from stepgen.synth.out_of_context import netlist

SEEDS = 6

# What is refused while it is elaborated is left half done.
pytestmark = pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")


@pytest.fixture(scope="module")
def own() -> Iterator[ModuleType]:
    with own_kernels() as module:
        yield module


def clamped(own: ModuleType, kernel: str = "timed") -> sg.Graph:
    """Tiles of 0 to 4 rows in groups that may be empty."""
    g = sg.Graph("layer")
    x = g.input("x", sg.int8[sg.ragged("R"), 8], ("G", sg.ragged("T")))
    y = x.map(sg.fn.clamp(kernel=kernel), name="clamped")
    g.output(own.negate(y) if kernel == "timed" else y, "y")
    return g


def drawn(rng: np.random.Generator) -> list[list[Any]]:
    """Groups of tiles, all of which may be empty."""
    return [
        [rng.integers(-128, 128, (rows, 8)) for rows in rng.integers(0, 5, tiles)]
        for tiles in rng.integers(0, 4, int(rng.integers(0, 5)))
    ]


def experiments(graph: sg.Graph, seeds: int = SEEDS, **settings: Any) -> list[Experiment]:
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        share = float(rng.choice([0, 0.3, 0.7]))
        stalls = Stalls(seed, dict.fromkeys(graph.ports, share))
        early = ("x",) if seed % 2 and "x" in graph.inputs else ()
        aborts = (int(rng.integers(1, 30)),) if seed % 3 else ()
        inputs = {name: drawn(rng) for name in graph.inputs}
        found.append(
            Experiment(graph, inputs, stalls=stalls, early=early, aborts=aborts, **settings)
        )
    return found


def test_a_kernel_with_a_model_is_exact(own: ModuleType, tmp_path: Path) -> None:
    """Values and the cycle of every beat, under stalls, early beats and soft resets.

    One, of a function, has a register in the path of handshakes; the other, of an operator, a
    pipeline behind them.
    """
    verdicts = simulate(experiments(clamped(own)), tmp_path, driver="cpp")
    assert [v.outcome.faults for v in verdicts] == [[]] * SEEDS
    assert all(v.compared["cycles"] > 0 and not v.unpredicted for v in verdicts)
    (verdict,) = simulate(experiments(clamped(own), 1), tmp_path)  # the same build, under cocotb
    assert verdict.good


@pytest.mark.slow
def test_a_kernel_without_a_model_is_held_to_its_values(own: ModuleType, tmp_path: Path) -> None:
    graph = clamped(own, "untimed")
    verdicts = simulate(experiments(graph), tmp_path, driver="cpp")
    assert [v.outcome.faults for v in verdicts] == [[]] * SEEDS
    for v in verdicts:
        name = "cycles and counters are not predicted: unit clamped has no cycle model"
        assert (v.prediction, v.unpredicted, list(v.compared)) == (None, name, ["values", "memory"])
        assert v.compared["values"] > 0
    with pytest.raises(sg.StepError, match="of design layer can't be predicted: untimed_clamper"):
        experiments(graph, 1)[0].prediction  # noqa: B018


@pytest.mark.slow
def test_a_wrong_model_is_found(own: ModuleType, tmp_path: Path) -> None:
    """The register of the circuit takes a cycle that this model does not know of."""
    (wrong,) = simulate(experiments(clamped(own, "hasty"), 1), tmp_path, driver="cpp")
    message = r"channel clamped: beat 0 was pushed in cycle (\d+), predicted (\d+)"
    (found,) = filter(None, (re.match(message, f) for f in wrong.outcome.faults))
    assert int(found[1]) == int(found[2]) + 1


@pytest.mark.slow
def test_inputs_and_included_files(own: ModuleType, tmp_path: Path) -> None:
    """Verilog of 2005 with an included file, two inputs, on other lanes."""
    g = sg.Graph("joined")
    a, b = (g.input(name, sg.int8[3, 8], (4,)) for name in "ab")
    g.output(a.map(sg.fn.larger(), b), "y")
    rng = np.random.default_rng(1)
    inputs = {name: rng.integers(-128, 128, (4, 3, 8)) for name in "ab"}
    stalls = Stalls(3, {"a": 0.5, "y": 0.5})
    experiment = Experiment(g, inputs, lanes=8, stalls=stalls)
    assert experiment.test(tmp_path, driver="cpp").outcome.faults == []
    assert kernel_files(experiment.design, "").keys() == {"larger.v", "widths.vh"}


MISTAKES = {
    "WRONG_VALUE": "port y: beat 1 in cycle",
    "LOSES": "port y: ",
    "CHANGES": "port y: ",
    "KIND": "the design reports error 2: map_0 meets",
    "DONE_CARRIES": "the design reports error 2: map_0 meets",
    "AFTER_DONE": "the design reports error 2: map_0 meets",
    "NO_DONE": "the run did not end within 500 cycles",
    "OWN_ERROR": "the design reports error 2: map_0 meets",
    "LOW": "the design reports error 2: map_0 meets",
}
"""What ``broken.sv`` can do wrong, in the order in which it counts them, and what finds it."""


@pytest.fixture(scope="module")
def broken(own: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    """A run for each mistake, and one without, all on one build."""
    g = sg.Graph("mistaken")
    g.output(g.input("x", sg.int8[2, 8], ("N", sg.ragged("M"))).map(sg.fn.broken()), "y")
    stalls = Stalls(1, {"y": 0.5})
    cases = {}
    for number, name in enumerate(["NONE", *MISTAKES]):
        tiles = np.zeros((4, 2, 8), int)
        tiles[0, 0, 0] = 100 + number
        inputs = {"x": [list(tiles), [], list(tiles)]}
        cases[name] = Experiment(g, inputs, stalls=stalls, max_cycles=500)
    folder = tmp_path_factory.mktemp("broken")
    found = simulate(list(cases.values()), folder, driver="cpp")
    return dict(zip(cases, found, strict=True))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_kernel_that_breaks_the_protocol_is_found(
    broken: dict[str, Verdict], mistake: str
) -> None:
    assert broken["NONE"].good
    faults = broken[mistake].outcome.faults
    assert any(re.match(MISTAKES[mistake], fault) for fault in faults), faults


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("logic full;", "logic full", r"clamp\.sv:\d+: syntax error, unexpected logic"),
        ("assign y_valid = full", "assign y_valid = fulll", r"clamp\.sv:\d+: Can't .*'fulll'"),
        ("module clamp", "module clasp", "there is no module clamp"),
        ("y_valid", "z_valid", "module clamp has no port or parameter y_valid"),
        ("STOP_BITS", "STOPS", "module clamp has no port or parameter STOP_BITS"),
        (
            "input  logic rst,",
            "input  logic rst, input logic enable,",
            "module clamp has a port enable that stepgen doesn't connect",
        ),
        (
            "[DATA_BITS+STOP_BITS+1:0] x_p",
            "[DATA_BITS+STOP_BITS:0] x_p",
            "x_payload of module clamp has 35 bits, not 36",
        ),
        (
            "[DATA_BITS+STOP_BITS+1:0] y_p",
            "[DATA_BITS+STOP_BITS+3:0] y_p",
            "y_payload of module clamp has 38 bits, not 36",
        ),
        (
            "output logic x_ready",
            "input  logic x_ready",
            r"clamp\.sv:\d+: Assigning to input/const variable: 'x_ready'",
        ),
        (
            "input  logic y_ready",
            "output logic y_ready",
            "module clamp drives y_ready, which is not one of its inputs",
        ),
    ],
)
def test_what_is_wrong_in_the_verilog_is_reported(
    own: ModuleType, monkeypatch: pytest.MonkeyPatch, old: str, new: str, message: str
) -> None:
    """One sentence with unit and file; the file as it is passes."""
    design = row_of_tiles()
    text = (FOLDER / "clamp.sv").read_text()
    assert kernel_files(design, verilog(design)) == {"clamp.sv": text}
    assert old in text
    monkeypatch.setattr(own.Clamper, "files", lambda: {"clamp.sv": text.replace(old, new)})
    with pytest.raises(sg.StepError, match=rf"^clamper map_0 \(clamp\.sv\): {message}"):
        kernel_files(design, "")


def row_of_tiles(name: str = "tiles") -> Design:
    g = sg.Graph(name)
    g.output(g.input("x", sg.int8[4, 8], (3,)).map(sg.fn.clamp()), "y")
    return lower(g)


def test_names_of_modules_do_not_meet(own: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    design = row_of_tiles("clamp")
    with pytest.raises(sg.StepError, match=r"^design clamp: clamp.sv defines the module clamp, as"):
        kernel_files(design, verilog(design))
    monkeypatch.setattr(own.Clamper, "files", lambda: {"clamp.v": ""})
    with pytest.raises(sg.StepError, match=r"^design clamp: the file clamp.v of a Verilog kernel"):
        kernel_files(design, "")
    design = row_of_tiles()
    bench = "module recorder; endmodule"
    monkeypatch.setattr(own.Clamper, "files", lambda: {"clamp.v": bench})
    with pytest.raises(
        sg.StepError, match=r"clamp\.v defines the module recorder, as stepgen does"
    ):
        kernel_files(design, "")


def test_files_of_two_kernels_do_not_meet(own: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    g = sg.Graph("two")
    x = g.input("x", sg.int8[4, 8], (3,)).map(sg.fn.clamp())
    g.output(x.map(sg.fn.clamp(kernel="untimed")), "y")
    design = lower(g)
    assert kernel_files(design, "").keys() == {"clamp.sv"}
    monkeypatch.setattr(own.UntimedClamper, "files", lambda: {"clamp.sv": "another"})
    with pytest.raises(sg.StepError, match=r"two different files .* are called clamp\.sv"):
        kernel_files(design, "")
    monkeypatch.setattr(own.UntimedClamper, "files", lambda: {"b.v": "module clamp; endmodule"})
    with pytest.raises(sg.StepError, match=r"b\.v and clamp\.sv both define clamp: rename one"):
        kernel_files(design, "")


def test_circuits_are_distinguished_by_their_files(
    own: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By which a bitstream is known: it may be there when the files are others."""
    design, text = row_of_tiles(), (FOLDER / "clamp.sv").read_text()
    before = circuits(design)
    assert circuits(row_of_tiles()) == before
    with monkeypatch.context() as other:
        other.setattr(own.Clamper, "files", lambda: {"clamp.sv": f"{text}// faster\n"})
        assert circuits(design) != before
    (tmp_path / "own.py").write_text((FOLDER / "own.py").read_text() + "# faster\n")
    with monkeypatch.context() as other:
        other.setattr(own, "__file__", str(tmp_path / "own.py"))
        assert circuits(design) != before
    assert circuits(design) == before


def test_what_defines_a_name() -> None:
    text = """
    // module a
    /* module b */ (* keep *) module c; endmodule module automatic d(); endmodule
    interface e; endinterface
    package f; endpackage
    """
    assert defined(text) == {"c", "d", "e", "f"}


@pytest.mark.parametrize(
    ("faces", "message"),
    [
        ({"model": None, "sources": ("clamp.sv",), "inputs": ("x",)}, "lacks outputs"),
        ({"sources": ("clamp.sv",)}, r"lacks model: build\(unit, params, layout\), or None if"),
        ({"model": None}, "needs its files of Verilog: sources"),
        ({"model": None, "sources": "clamp.sv"}, r"sources must be .* = \('clamp.sv',\)"),
        ({"model": None, "sources": ("a.sv",)}, "names a.sv, but there is no file .*/a.sv"),
        ({"model": None, "sources": ("widths.vh",)}, "needs a file that ends in .v or .sv"),
        (
            {"model": None, "sources": ("clamp.sv",), "signals": ("go",)},
            "signals may be running and error, not 'go'",
        ),
    ],
)
def test_what_is_missing_is_reported_where_the_class_is_defined(
    own: ModuleType, faces: dict[str, Any], message: str
) -> None:
    ports = {} if "inputs" in faces else {"inputs": ("x",), "outputs": ("y",)}
    with pytest.raises(
        sg.StepError, match=rf"Sculptor at test_verilog_kernel.py:\d+:? .*{message}"
    ):
        type(VerilogKernel)(
            "Sculptor", (VerilogKernel,), {"__module__": own.__name__} | ports | faces
        )
    assert "sculptor" not in UnitParams.kinds


@pytest.mark.parametrize("named", [{}, {"kind": "matmul"}])
def test_a_kind_has_the_name_of_no_other(own: ModuleType, named: dict[str, str]) -> None:
    """Whether the class or its attribute would give it."""
    faces = {"model": None, "sources": ("clamp.sv",), "inputs": ("x",), "outputs": ("y",)}
    with pytest.raises(
        sg.StepError, match=r"the unit Matmul at .* would be called matmul, as Matmu"
    ):
        type(VerilogKernel)(
            "Matmul", (VerilogKernel,), {"__module__": own.__name__} | faces | named
        )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"HIGH": 1 << 31},
            "the parameter 'HIGH' of clamp must fit into 32 bits, unlike 2147483648",
        ),
        ({"HIGH": "60"}, "the parameter 'HIGH' of clamp must be an integer, not '60'"),
        ({"HIGH ": 60}, "the parameter 'HIGH ' of clamp must be an ASCII identifier"),
    ],
)
def test_parameters_are_checked(
    own: ModuleType, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], message: str
) -> None:
    monkeypatch.setattr(own.Clamper, "parameters", lambda self, ports: given)
    with pytest.raises(sg.StepError, match=f"^design tiles: clamper map_0: {message}"):
        row_of_tiles()


def test_amaranth_cannot_run_it(own: ModuleType) -> None:
    with pytest.raises(sg.StepError, match=r"^clamper map_0 is a Verilog kernel, which Amaranth's"):
        Simulator(Accelerator(row_of_tiles()))


def test_a_merge_in_order_of_arrival_needs_models(own: ModuleType) -> None:
    g = sg.Graph("merge")
    x, sel = g.input("x", sg.int8[1, 8], (4,)), g.input("sel", sg.Selector(2), (4,))
    a, b = sg.partition(x, sel, rank=0)
    clipped = a.map(sg.fn.clamp(kernel="untimed"))
    g.output(sg.reassemble([clipped, b], sel, rank=0, order="arrival"), "y")
    inputs = {"x": np.zeros((4, 1, 8), int), "sel": [[1, 0], [0, 1], [1, 1], [1, 0]]}
    message = r"^reassemble_0 takes its inputs in order of arrival, .*: cycles .* no cycle model$"
    with pytest.raises(sg.StepError, match=message):
        Experiment(g, inputs).case()


def test_a_design_is_written_and_read(own: ModuleType) -> None:
    design = row_of_tiles()
    assert Design.from_json(design.to_json()) == design


PROGRAM = """
import stepgen as sg

def tiles(kernel: str = "timed"):
    g = sg.Graph("tiles")
    g.output(g.input("x", sg.int8[4, 8], (3,)).map(sg.fn.clamp(kernel=kernel)), "y")
    return g
"""


@pytest.mark.slow
def test_commands(
    own: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The Verilog is written along, and reports say what nothing predicts."""
    monkeypatch.chdir(tmp_path)
    Path("p.py").write_text(PROGRAM)
    assert execute(["verilog", "p.py:tiles", "-o", "out"]) == 0
    assert Path("out/clamp.sv").read_bytes() == (FOLDER / "clamp.sv").read_bytes()
    assert "Verilog kernel clamp.sv" in capsys.readouterr().out
    untimed = ["p.py:tiles", "--set", "kernel=untimed"]
    message = "cycles and counters are not predicted: unit map_0 has no cycle model"
    assert execute(["test", *untimed, "--driver", "cpp"]) == 0
    assert f"in the RTL, {message}\n" in capsys.readouterr().out
    assert execute(["test", *untimed, "--driver", "cpp", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["cycles"]["predicted"], data["unpredicted"]) == (None, message)
    assert data["compared"] == {"values": 25, "memory": 0}
    assert execute(["time", *untimed]) == 2
    message = (
        "the cycles of design tiles can't be predicted: untimed_clamper map_0 has no cycle model"
    )
    assert f"stepgen: {message}\n" in capsys.readouterr().err
    assert execute(["report", *untimed, "-o", "untimed.html"]) == 0
    page = Path("untimed.html").read_text()
    assert "cycles and counters are not predicted: unit map_0 has no cycle model" in page
    assert 'id="timeline"' not in page
    assert execute(["metrics", *untimed, "--policy", "hardware"]) == 0


@pytest.mark.slow
def test_synthesis(own: ModuleType, tmp_path: Path) -> None:
    """The module is a part of the netlist."""
    design = row_of_tiles()
    found = netlist(System(design), "tiles", tmp_path, kernels=kernel_files(design, ""))
    cells = json.loads(found.read_text())["modules"]["tiles"]["cells"]
    assert any(name.startswith("accelerator.map_0.kernel.") for name in cells)
    assert "clamp" not in {cell["type"] for cell in cells.values()}


@pytest.mark.parametrize("what", ["kernel", "circuit"])
def test_a_design_folder_notices_other_sources(
    own: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    what: str,
) -> None:
    """Its Verilog kernels, and the files in which users' units are."""
    monkeypatch.chdir(tmp_path)
    Path("p.py").write_text(PROGRAM)
    assert execute(["verilog", "p.py:tiles", "-o", "out"]) == 0
    assert execute(["verilog", "out"]) == 0
    capsys.readouterr()
    if what == "kernel":
        text = (FOLDER / "clamp.sv").read_text()
        monkeypatch.setattr(own.Clamper, "files", lambda: {"clamp.sv": f"{text}// faster\n"})
        wanted = ["clamp.sv, design.json", "clamp.sv is another Verilog kernel than the file"]
    else:
        Path("own.py").write_text((FOLDER / "own.py").read_text() + "# faster\n")
        monkeypatch.setattr(own, "__file__", "own.py")
        wanted = ["tiles.v", "tiles.v was made by other circuits"]
    for line, message in zip(("verilog out", "test out --driver cpp -o t"), wanted, strict=True):
        assert execute(line.split()) == 2
        assert message in capsys.readouterr().err
    assert execute(["verilog", "out", "-o", "out"]) == 0
    assert execute(["verilog", "out"]) == 0
