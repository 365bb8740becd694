"""Test benches that live without stepgen: run in an environment that has cocotb and numpy alone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from icarus import SIMULATORS, needs_icarus
from programs import every_unit, every_unit_inputs
from seeds import some_slow
from standing_alone import Environment

import stepgen as sg
from stepgen.cosim.experiment import Experiment
from stepgen.cosim.standalone import write_bench
from stepgen.emit.design_writer import write
from stepgen.ir.errors import StepError
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.program.program import Program, golden_of, load

PREDICTED, EXPECTED = "values and cycles as predicted", "values as expected"


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> Environment:
    return Environment(tmp_path_factory.mktemp("alone"))


def written(
    folder: Path,
    program: Program,
    golden: Path | None = None,
    families: Sequence[str] = (),
    **more,
) -> Path:
    """The folder of a bench."""
    experiment = Experiment(program.graph, program.inputs, **more)
    write(folder, program, experiment.design, families=families)
    write_bench(folder, experiment, golden)
    return folder / "bench"


def simulated(alone: Environment, bench: Path, simulator: str, **more: str) -> str:
    """What running the bench says; it must pass. `more` are variables."""
    (runner,) = bench.glob("test_*.py")
    return alone.run(runner.name, cwd=bench, SIM=simulator, **more).stdout


def refused(alone: Environment, bench: Path, simulator: str, **more: str) -> str:
    """What running the bench says, which must fail. `more` are variables."""
    (runner,) = bench.glob("test_*.py")
    done = alone.run(runner.name, cwd=bench, SIM=simulator, check=False, **more)
    assert done.returncode
    return done.stdout + done.stderr


def change(path: Path, **arrays) -> None:
    """Change arrays of a file by functions."""
    with np.load(path) as file:
        found = {name: file[name] for name in file.files}
    for name, changed in arrays.items():
        found[name] = changed(found[name])
    np.savez(path, **found)


SIZES = {"vectors": "6", "selected": "3", "width": "8", "columns": "8", "element": "int8"}


@pytest.mark.slow
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_a_bench_and_changes_of_its_stimulus(simulator, alone, tmp_path):
    program = load("matvec", {**SIZES, "tiling": "dynamic"})
    bench = written(tmp_path / "d", program, golden_of("matvec"), memory=MemoryTiming(5, 2))
    shutil.move(tmp_path / "d", tmp_path / "elsewhere")
    bench = tmp_path / "elsewhere" / "bench"
    assert simulated(alone, bench, simulator).count(PREDICTED) == 4

    change(bench / "stimulus.npz", x=lambda x: x[::-1])
    assert "bytes differ" in refused(alone, bench, simulator)
    alone.run("golden.py", cwd=bench)
    assert simulated(alone, bench, simulator).count(PREDICTED) == 4

    change(bench / "steady" / "predicted.npz", **{"mem.r": lambda cycles: cycles + 1})
    assert "mem.r: beat 0 moved in cycle" in refused(alone, bench, simulator)

    # Cycles of another structure are not known: its run may take longer than the predicted one.
    known = bench / f"{program.graph.name}_design.py"
    known.write_text(re.sub(r"^LONGEST = \d+", "LONGEST = 5", known.read_text(), flags=re.M))
    assert "hang after 5 cycles; the status is 0x1" in refused(alone, bench, simulator)
    change(bench / "stimulus.npz", **{"gate/values": lambda gate: ~gate})
    alone.run("golden.py", cwd=bench)
    assert simulated(alone, bench, simulator).count(EXPECTED) == 4


def tiny(name: str) -> Program:
    """A program whose circuit is hardly any."""
    g = sg.Graph(name)
    g.output(g.input("x", sg.int8[1, 4], (2,)).promote(), "y")
    return Program(g, {"x": np.zeros((2, 1, 4), np.int8)})


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_a_waveform_after_a_build_without(simulator, alone, tmp_path):
    bench = written(tmp_path, tiny("waved"))

    def waveforms() -> list[Path]:
        return [path for path in bench.rglob("*") if path.suffix in (".fst", ".vcd")]

    simulated(alone, bench, simulator)
    assert not waveforms()
    simulated(alone, bench, simulator, WAVES="yes")
    assert [path.stat().st_size > 1000 for path in waveforms()] == [True]
    simulated(alone, bench, simulator, WAVES="0")
    command = [sys.executable, "-m", "pytest", "-q"]  # as a user may have it, with its cache
    here = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    subprocess.run(command, cwd=bench, env=here | {"SIM": simulator}, check=True)
    # What a run leaves does not keep a bench from being written again.
    assert written(tmp_path, tiny("waved")) == bench


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_other_sources_are_built_anew(simulator, alone, tmp_path):
    """Also older ones; here without a module, which no build takes."""
    g = sg.Graph("blocks")
    x = g.input("x", sg.int8[1, 4], (2,))
    g.output(x.map(sg.fn.matmul(), g.input("w", sg.int8[4, 4], (2,))), "y")
    program = Program(g, {"x": np.ones((2, 1, 4), np.int8), "w": np.ones((2, 4, 4), np.int8)})
    bench = written(tmp_path / "d", program, families=["ecp5"])
    assert simulated(alone, bench, simulator).count(PREDICTED) == 4
    assert simulated(alone, bench, simulator, FAMILY="ecp5").count(PREDICTED) == 4
    assert "--family xilinx` writes" in refused(alone, bench, simulator, FAMILY="xilinx")
    assert "FAMILY is one of ecp5, gowin," in refused(alone, bench, simulator, FAMILY="ECP5")
    models = (bench.parent / "blocks_ecp5_models.v").rename(tmp_path / "models.v")
    said = refused(alone, bench, simulator, FAMILY="ecp5")
    assert re.search("the bench can't read .*blocks_ecp5_models.v: No such file", said)
    models.rename(bench.parent / "blocks_ecp5_models.v")
    runner, mine = bench / "test_blocks.py", bench.parent / "mine.v"
    with (bench.parent / "blocks.v").open() as verilog:
        mine.write_text(verilog.readline())
    os.utime(mine, (1e9, 1e9))
    runner.write_text(runner.read_text().replace('"blocks.v"', '"mine.v"'))
    refused(alone, bench, simulator)


@pytest.mark.parametrize("name", some_slow(["test", "test_me", "me_test"], 1))
def test_pytest_finds_the_runner_alone(name, tmp_path):
    bench = written(tmp_path, tiny(name))
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q"]
    said = subprocess.run(command, cwd=bench, capture_output=True, text=True, check=False)
    found = [line for line in said.stdout.splitlines() if "::" in line]
    assert found == [f"test_{name}.py::test_{name}"], said.stdout


@needs_icarus
@pytest.mark.slow
def test_every_unit(alone, tmp_path):
    rng = np.random.default_rng(3)
    inputs = every_unit_inputs(rng)
    bench = written(tmp_path, Program(every_unit(), inputs), early=("x",), lanes=4)
    assert simulated(alone, bench, "icarus").count(PREDICTED) == 4


@pytest.mark.slow
@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("name", ["moe", "perceptron", "matmul", "matvec"])
def test_examples_with_a_golden_script(name, simulator, alone, tmp_path):
    program = load(name, {} if name == "moe" else {"element": "int8"})
    bench = written(tmp_path, program, golden_of(name))
    assert (bench / "golden.py").exists()
    assert simulated(alone, bench, simulator).count(PREDICTED) == 4


def test_of_a_bench_before_only_its_own_files_are_removed(tmp_path):
    golden = tmp_path / "golden.py"
    golden.write_text("def expected(stimulus):\n    return {}\n")
    bench = written(tmp_path / "d", tiny("first"), golden)
    (bench / "first_flow.py").write_text("mine")
    before = {path.name for path in bench.iterdir()}
    with pytest.raises(StepError, match=r"its first_flow\.py is yours, not as stepgen wrote it"):
        written(tmp_path / "d", tiny("other"))
    assert {path.name for path in bench.iterdir()} == before
    (bench / "first_flow.py").unlink()
    (bench / "written.json").write_text(
        (bench / "written.json").read_text().replace("{", '{"../other.v": "",', 1)
    )
    (bench / "test_first.result.xml").touch()
    for _ in range(2):  # the second time it is of the same design
        written(tmp_path / "d", tiny("other"))
    alone = written(tmp_path / "alone", tiny("other"))
    names = {path.name for path in alone.iterdir()}
    assert "golden.py" in before - names
    assert {path.name for path in bench.iterdir()} == names | {"test_first.result.xml"}


@pytest.mark.parametrize("text", ["[]", '"x"', "3", "null", "{", "[" * 10**5, None])
def test_a_list_of_its_files_that_is_broken_is_refused(text, tmp_path):
    (tmp_path / "bench").mkdir()
    listed = tmp_path / "bench" / "written.json"
    if text is None:
        os.mkfifo(listed)
    else:
        listed.write_text(text)
    with pytest.raises(StepError, match="it is not a test bench of stepgen's"):
        small(tmp_path)


def small(folder: Path, golden: Path | None = None, element: str = "int8") -> Path:
    """The folder of a bench, without Verilog beside it."""
    program = load("matvec", {**SIZES, "element": element})
    folder.mkdir(exist_ok=True)
    write_bench(folder, Experiment(program.graph, program.inputs), golden)
    return folder / "bench"


def test_what_the_user_has_changed_stays(tmp_path):
    bench = small(tmp_path)
    (bench / "build").mkdir()  # what a run leaves may go
    assert small(tmp_path) == bench
    change(bench / "stimulus.npz", x=lambda x: x + 1)
    with pytest.raises(StepError, match=r"its stimulus\.npz is yours, not as stepgen wrote it"):
        small(tmp_path)
    (bench / "written.json").unlink()
    with pytest.raises(StepError, match="it is not a test bench of stepgen's"):
        small(tmp_path)


def test_an_added_file_stays(tmp_path):
    bench = small(tmp_path)
    (bench / "drivers" / "mine.py").touch()
    with pytest.raises(StepError, match=r"its drivers/mine\.py is yours"):
        small(tmp_path)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return {'y': stimulus['x'][:, :3]}", "does not fit"),
        ("return {'y': stimulus['x'][:3].astype('int32') * 0}", "computes another y than the ref"),
        ("return {'z': 0}", "computes z, but what leaves is y, y/stored"),
        ("return stimulus['a']", "fails: KeyError: 'a'"),
    ],
)
def test_a_golden_script_that_is_wrong_is_refused(body, said, tmp_path):
    golden = tmp_path / "golden.py"
    golden.write_text(f"def expected(stimulus):\n    {body}\n")
    with pytest.raises(StepError, match=said):
        small(tmp_path / "d", golden)


def test_a_golden_script_may_decline(tmp_path):
    bench = small(tmp_path, golden_of("matvec"), "bf16")
    assert not (bench / "golden.py").exists()
    assert "no script here computes them" in (bench / "README.md").read_text()
