"""On a simulator with four states nothing undefined gets where it may not be."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from icarus import needs_icarus, without_reset
from own_kernels import FOLDER, own_kernels
from programs import every_unit, every_unit_inputs, example
from seeds import some_slow

import stepgen as sg
from stepgen.cosim import builds
from stepgen.cosim.case import Case, write_cases
from stepgen.cosim.experiment import Experiment, simulate
from stepgen.cosim.icarus import build
from stepgen.cosim.scoreboard import read_outcome
from stepgen.cosim.testbench import run_cocotb
from stepgen.emit.elaborate import verilog
from stepgen.emit.interface import Interface, StreamPort, interface
from stepgen.fuzz import draw
from stepgen.ir.errors import StepError
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.stalls import MEMORY_CHANNELS, Stalls
from stepgen.timing.deadlock import Deadlock
from stepgen.timing.drive import TooLong
from stepgen.tools import external


@cache
def experiments() -> list[Experiment]:
    """Without and with stalls, early beats and runs that a soft reset aborts."""
    rng = np.random.default_rng(0)
    made = []
    for seed, share in enumerate((0.0, 0.4, 0.8)):
        inputs = every_unit_inputs(rng)
        names = ("x", "sel", "pairs", "chunks", *MEMORY_CHANNELS)
        stalls = Stalls(seed, dict.fromkeys(names, share))
        early = ("x",) if seed % 2 else ()
        aborts = (3, 40, 80)[: 2 * seed]
        memory = MemoryTiming(5)
        made.append(
            Experiment(
                every_unit(), inputs, memory=memory, stalls=stalls, early=early, aborts=aborts
            )
        )
    return made


@pytest.mark.slow
@needs_icarus
def test_every_unit_is_exact_and_defined(tmp_path: Path) -> None:
    verdicts = simulate(experiments(), tmp_path, simulator="icarus")
    assert [v.outcome.faults for v in verdicts] == [[]] * len(verdicts)
    for verdict in verdicts:
        assert all(verdict.compared.values())
        assert verdict.outcome.undefined is not None
    # What the store writes was X; what it does not write has to stay so.
    arrays = dict(np.load(tmp_path / "0" / "case.npz"))
    assert (arrays["undefined"] & ~arrays["undefined_after"]).any()
    wrong = {**arrays, "undefined_after": arrays["undefined"]}
    np.savez(tmp_path / "0" / "case.npz", allow_pickle=False, **wrong)
    outcome = read_outcome(tmp_path / "0", interface(experiments()[0].design))
    assert "expected never written" in outcome.faults[0]


@needs_icarus
@pytest.mark.parametrize("columns", [8, 12])
def test_columns_that_fill_no_beat_are_defined(columns: int, tmp_path: Path) -> None:
    """Banks that hold no row of transposed weights are never written: the padding of y is X."""
    rng = np.random.default_rng(0)
    g, shapes = sg.Graph("two"), {"x": (2, 4), "v": (5, 4), "w": (5, columns)}
    x, v, w = (g.input(name, sg.int8[shape], (1,)) for name, shape in shapes.items())
    narrow = x.map(sg.fn.matmul(transpose=True), v).map(sg.fn.requantize(shift=6))
    g.output(narrow.map(sg.fn.matmul(), w), "y")
    inputs = {n: rng.integers(-128, 128, (1, *s)).astype(np.int8) for n, s in shapes.items()}
    (verdict,) = simulate([Experiment(g, inputs, lanes=4)], tmp_path, simulator="icarus")
    assert verdict.outcome.faults == []
    assert min(verdict.compared[what] for what in ("values", "cycles")) > 0


@needs_icarus
@pytest.mark.slow
def test_both_simulators_move_every_beat_in_the_same_cycle(tmp_path: Path) -> None:
    two, four = (
        simulate(experiments(), tmp_path / name, simulator=name) for name in ("verilator", "icarus")
    )
    for a, b in zip(two, four, strict=True):
        assert a.outcome.record is not None
        assert b.outcome.record is not None
        for moved in ("pushes", "pops"):
            ours, its = getattr(a.outcome.record, moved), getattr(b.outcome.record, moved)
            assert {n: c.tolist() for n, c in ours.items()} == {
                n: c.tolist() for n, c in its.items()
            }


@needs_icarus
@pytest.mark.slow
def test_the_judge_looks_at_defined_wires(tmp_path: Path) -> None:
    for verdict in simulate(experiments()[:1], tmp_path, simulator="icarus", driver="judge"):
        assert verdict.good, verdict.outcome.faults


@needs_icarus
@pytest.mark.slow
def test_waveforms_show_x(tmp_path: Path) -> None:
    wave = tmp_path / "a.vcd"
    experiments()[0].test(tmp_path / "t", simulator="icarus", waveform=wave, waveform_cycles=20)
    changes = wave.read_text().partition("$enddefinitions")[2]
    assert re.search("^bx", changes, re.MULTILINE)


@cache
def written() -> str:
    return verilog(experiments()[0].design, probes=True, initial=False)


def wrong_verilog(monkeypatch: pytest.MonkeyPatch, change: Callable[[str], str]) -> None:
    monkeypatch.setattr(builds, "verilog", lambda *_, **__: change(written()))


@needs_icarus
@pytest.mark.parametrize(
    ("module", "register", "said"),
    some_slow(
        [
            (r"control_\d+", "csr__bvalid", "control registers: bvalid is X while"),
            (r"fifo_\d+", "full", "channel .*, its tail: ready is X while the design does not run"),
            (r"fifo_\d+\.store", "some", "channel .*: valid is X while"),
            (r"memory_\d+", "any_chosen", "channel mem_a[rw], its tail: valid is X in cycle 0"),
            (r"run_control_\d+", "cycle", "the design: cycle is X"),
        ],
        0,
    ),
)
def test_a_register_without_reset_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: str, register: str, said: str
) -> None:
    wrong_verilog(monkeypatch, without_reset(module, register))
    (verdict,) = simulate(experiments()[:1], tmp_path, simulator="icarus")
    assert re.match(said, verdict.outcome.faults[0]), verdict.outcome.faults


@pytest.fixture
def own() -> Iterator[ModuleType]:
    """The functions whose units are Verilog of a user's own."""
    with own_kernels() as module:
        yield module


def clamped() -> Experiment:
    g = sg.Graph("layer")
    x = g.input("x", sg.int8[2, 8], (4,))
    g.output(x.map(sg.fn.clamp(), name="clamped"), "y")
    rng = np.random.default_rng(1)
    inputs = {"x": rng.integers(-128, 128, (4, 2, 8)).astype(np.int8)}
    return Experiment(g, inputs, stalls=Stalls(3, {"x": 0.5, "y": 0.3}))


KERNEL = (FOLDER / "clamp.sv").read_text()
NOTHING = "  assign y_payload = beat ^ (own & ~own);\n"
"""With two states it is no mistake."""
MISTAKES = {
    "payload read while valid is low": (
        "full <= x_valid;",
        "full <= x_payload[1:0] != 3;",
        "channel clamped, its tail: valid is X while the design does not run",
    ),
    "register without reset": (
        "  assign y_payload = beat;\n",
        f"  logic own;\n  always_ff @(posedge clk) own <= own ^ full;\n{NOTHING}",
        r"channel clamped, its tail: kind of a beat is X in cycle \d+",
    ),
    "counter enabled by X": (
        "  assign y_payload = beat;\n",
        "  logic [7:0] own;\n"
        "  always_ff @(posedge clk) own <= rst ? 8'd0 : x_payload[0] ? own : own + 8'd1;\n"
        + NOTHING,
        r"channel clamped, its tail: kind of a beat is X in cycle \d+",
    ),
    "X that an if makes a known value": (
        "if (x_ready) begin",
        "if (x_ready && x_payload[1:0] == 0) begin",
        "the run did not end within .*",
    ),
}


@needs_icarus
@pytest.mark.parametrize("mistake", some_slow(MISTAKES, 2))
def test_mistakes_in_a_unit_of_ones_own_are_named(
    own: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mistake: str
) -> None:
    old, new, said = MISTAKES[mistake]
    assert old in KERNEL
    files = {"clamp.sv": KERNEL.replace(old, new)}
    monkeypatch.setattr(builds, "kernel_files", lambda *_: files)
    (verdict,) = simulate([clamped()], tmp_path, simulator="icarus")
    assert re.fullmatch(said, verdict.outcome.faults[0]), verdict.outcome.faults


WRITES = """
module writes (
    input clk, input rst, input running,
    input x_valid, output x_ready, input [7:0] x_payload,
    output y_valid, input y_ready, output [7:0] y_payload
);
  reg [7:0] rows [1:0];
  assign x_ready = 1'h1;
  assign y_valid = running & x_valid;
  assign y_payload = 8'h00;
  always @(posedge clk) begin
    if (ENABLE)
      rows[ROW] <= x_payload;
  end
endmodule
"""


@needs_icarus
@pytest.mark.parametrize(
    ("enable", "row", "said"),
    [
        ("x_payload[0]", "1'h0", "writes: the write enable of the memory rows is X"),
        ("running", "x_payload[1]", "writes: the write address of the memory rows is X"),
        ("x_valid & x_payload[0]", "x_payload[1]", None),
    ],
)
def test_a_write_that_depends_on_x_is_reported(
    tmp_path: Path, enable: str, row: str, said: str | None
) -> None:
    """It would not happen, and nothing else would show it."""
    ports = [
        StreamPort(name, way, 1, 8, 0, 8, raw=True) for name, way in (("x", "in"), ("y", "out"))
    ]
    text = WRITES.replace("ENABLE", enable).replace("ROW", row)
    simulation = build(Interface("writes", ports, control=False), text)
    rows = np.zeros((9, 1), np.uint8)
    case = Case("a", {"x": rows}, {"y": rows}, stalls=Stalls(0, {"x": 0.5}))
    write_cases(tmp_path, simulation.interface, [case])
    (outcome,) = run_cocotb(simulation, tmp_path)
    if said is None:
        assert outcome.good
    else:
        assert outcome.faults[0].startswith(said.replace("writes:", "stepgen_bench.dut:"))


@needs_icarus
@pytest.mark.slow
@pytest.mark.parametrize("tiling", ["static", "dynamic"])
def test_the_mixture_of_experts(tmp_path: Path, tiling: str) -> None:
    sizes = {"tokens": 9, "experts": 3, "width": 8, "hidden": 16, "columns": 8, "tile": 2}
    made = []
    for seed, share in enumerate((0.0, 0.6)):
        program = example("moe").moe(**sizes, top=1, tiling=tiling, seed=seed)
        stalls = Stalls(seed, dict.fromkeys(("route", *MEMORY_CHANNELS), share))
        made.append(Experiment(*program, stalls=stalls, aborts=(70, 300)[: 2 * seed]))
    for verdict in simulate(made, tmp_path, simulator="icarus"):
        assert verdict.good, verdict.outcome.faults


def drawn() -> Iterator[list[Experiment]]:
    """Drawn programs that end in time, with what disturbs them; at drawn depths some deadlock."""
    for number in itertools.count():
        case, _, _ = draw.case(9, number)
        with suppress(Deadlock, TooLong):
            yield case.disturbed(case.experiment())


@needs_icarus
@pytest.mark.slow
def test_drawn_programs(tmp_path: Path) -> None:
    for number, runs in enumerate(itertools.islice(drawn(), 12)):
        for verdict in simulate(runs, tmp_path / str(number), simulator="icarus"):
            assert verdict.good, (number, verdict.outcome.faults)


def test_without_icarus_one_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lost = external.Tool("iverilog", "four states", "system", None, None, False, "install it")
    monkeypatch.setattr(external, "find_all", lambda: (lost,))
    with pytest.raises(StepError, match=r"iverilog \(four states\) was not found: install it"):
        simulate(experiments()[:1], tmp_path / "t", simulator="icarus")
    assert not (tmp_path / "t").exists()


def test_what_icarus_lacks_is_said(tmp_path: Path) -> None:
    with pytest.raises(StepError, match="the driver cpp is for verilator; icarus has cocotb and"):
        simulate(experiments()[:1], tmp_path, simulator="icarus", driver="cpp")
    with pytest.raises(StepError, match="the simulator must be verilator or icarus, not 'ghdl'"):
        simulate(experiments()[:1], tmp_path, simulator="ghdl")
