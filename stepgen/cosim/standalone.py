"""A test bench that lives without stepgen: it needs cocotb, numpy and a simulator.

It is a folder ``bench`` in a design folder: the tests, the drivers they use, the stimulus, and what
is expected of it, as data. What the user has changed there is never overwritten.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from stepgen.cosim.experiment import MARGIN, Experiment
from stepgen.drivers import files
from stepgen.drivers.beats import Port
from stepgen.drivers.tensors import Tensor
from stepgen.emit.interface import NO_DATA, StreamPort, interface
from stepgen.emit.kernels import compiled
from stepgen.emit.wraps import FAMILIES
from stepgen.hw.axi import Axi4, Axi4Lite
from stepgen.hw.design.registers import CHANNEL_BASE, CHANNEL_STRIDE, COUNTERS, REGISTERS
from stepgen.hw.design.table import Design
from stepgen.hw.units.axi.params import Axi
from stepgen.hw.units.sink.params import Sink
from stepgen.hw.units.source.params import Source
from stepgen.hw.verilog_kernel.params import sources_of
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.records import parsed
from stepgen.ir.stalls import MEMORY_CHANNELS
from stepgen.ir.wire import wire_levels
from stepgen.program import inputs as program_inputs
from stepgen.program.design_folder import BENCH, content_hash, hash_words
from stepgen.semantics import streamfile
from stepgen.semantics.memory import from_image, layouts
from stepgen.tools.atomic import atomic_folder, check_folder
from stepgen.tools.templates import fill

WRITTEN = "written.json"
"""Hashes of its files as they were written."""

SHARE = 0.25
"""Of the cycles stall in the test with stalls, if no other share is asked for."""

UNPREDICTED = 100
"""A run of another stimulus, such as a gate that lets all pass, may be so many times as long."""

_OWN = ("bench.py", "design.py", "flow.py", "flow.cpp")
"""Files with the name of the design before theirs, which simulations need."""

_MADE = ("build", "results.xml", "*.result.xml", "dump.vcd")
"""What running the bench leaves beside ``__pycache__``; under pytest the results are a test's."""

Arrays = dict[str, npt.NDArray[Any]]

Put = Callable[[], tuple[dict[str, str], tuple[str, ...]]]
"""Writes a bench; returns paths in the design folder: of files by what they are, and removed."""


@contextmanager
def prepared(folder: Path, experiment: Experiment, golden: Path | None = None) -> Iterator[Put]:
    """Make the test bench of a design, apart from its design folder.

    Parameters
    ----------
    folder : Path
        The design folder, which has the Verilog when the bench is put there.
    experiment : Experiment
        The program with its inputs on the design; its stalls are those of the test ``stalled``.
    golden : Path, optional
        A file whose function ``expected`` computes in plain numpy what leaves; it becomes part of
        the bench if it does for this program.

    Yields
    ------
    callable
        Puts the bench into the design folder, and removes what only the one that was there has.

    Raises
    ------
    StepError
        If the user has changed the bench that is there, or it can't be written, or the golden file
        computes other values than the reference.
    """
    bench = folder / BENCH
    there = bench.exists() or bench.is_symlink()
    if there:
        check_folder(bench)
    before = _as_written(bench)
    name = experiment.design.name
    runs = _runs(experiment)
    with tempfile.TemporaryDirectory() as holder:
        place = Path(holder)
        program_inputs.save_given(place / "stimulus.npz", experiment.graph, experiment.inputs)
        stimulus = files.load(place / "stimulus.npz")
        computed = None if golden is None else _computed(golden, stimulus)
        for case, run in runs.items():
            (place / case).mkdir()
            expected = _expected(run)
            _check_golden(golden, computed, expected)
            np.savez_compressed(place / case / "expected.npz", allow_pickle=False, **expected)
            predicted = _predicted(run, stimulus)
            if predicted:
                np.savez_compressed(place / case / "predicted.npz", allow_pickle=False, **predicted)
        if golden is not None and computed is not None:
            shutil.copyfile(golden, place / "golden.py")
        for template, values in _values(experiment, runs, computed is not None).items():
            target = _target(name, template.removesuffix(".j2"))
            (place / target).write_text(fill(f"bench/{template}", **values), encoding="utf-8")
        (place / "drivers").mkdir()
        for path in _drivers():
            shutil.copyfile(path, place / "drivers" / path.name)
        hashes = {key: content_hash(path.read_bytes()) for key, path in sorted(_files(place))}
        (place / WRITTEN).write_text(json.dumps(hashes, indent=1) + "\n", encoding="utf-8")
        gone = sorted(before - hashes.keys())
        if there:
            check_folder(bench, place, gone=gone)

        def put() -> tuple[dict[str, str], tuple[str, ...]]:
            with atomic_folder(bench, last=WRITTEN, gone=gone) as new:
                shutil.copytree(place, new, dirs_exist_ok=True)
            words = {"bench": f"{BENCH}/{name}_bench.py", "its runner": f"{BENCH}/test_{name}.py"}
            return words, tuple(f"{BENCH}/{file}" for file in gone)

        yield put


def write_bench(folder: Path, experiment: Experiment, golden: Path | None = None) -> dict[str, str]:
    """Write the test bench of a design into its design folder; as `prepared`."""
    with prepared(folder, experiment, golden) as put:
        return put()[0]


def of_another_design(folder: Path, design: Design) -> bool:
    """Whether a design folder has a test bench, which is of another design."""
    if not (folder / BENCH / WRITTEN).is_file():
        return False
    runner = folder / BENCH / _target(design.name, "runner.py")
    if not runner.is_file():  # a folder in its place is of no design
        return not runner.exists()
    return design.hash.encode() not in runner.read_bytes()


def needed(experiment: Experiment) -> list[str]:
    """Files of the bench that a simulation of it needs, by their paths in the design folder.

    Parameters
    ----------
    experiment : Experiment
        As for `write_bench`.
    """
    name = experiment.design.name
    kept = ["expected.npz"] + ["predicted.npz"] * (not experiment.unpredicted)
    paths = [
        *(_target(name, own) for own in _OWN),
        *(f"drivers/{path.name}" for path in _drivers()),
        "stimulus.npz",
        *(f"{case}/{data}" for case in _TESTS for data in kept),
    ]
    return [f"{BENCH}/{path}" for path in paths]


def _target(name: str, made: str) -> str:
    """Name of a file that is made of a template."""
    if made in _OWN:
        return f"{name}_{made}"
    return f"test_{name}.py" if made == "runner.py" else made


def _drivers() -> list[Path]:
    return sorted(Path(files.__file__).parent.glob("*.py"))


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """All files of a bench by their relative names, but for what running it leaves."""
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        made = "__pycache__" in parts or any(fnmatch(parts[0], left) for left in (*_MADE, ".*"))
        if path.is_file() and not made:
            yield "/".join(parts), path


def _as_written(folder: Path) -> set[str]:
    """Files of a bench that is there; check that it may be written anew."""
    if not folder.exists() or not any(folder.iterdir()):
        return set()
    hashes = None
    if (folder / WRITTEN).is_file():
        with suppress(OSError, ValueError):
            hashes = parsed((folder / WRITTEN).read_text(encoding="utf-8"), WRITTEN)
    if not isinstance(hashes, dict):
        raise StepError(
            f"can't write {folder}: it is not a test bench of stepgen's: name another folder"
        )
    found = {name: path for name, path in sorted(_files(folder)) if name != WRITTEN}
    for name, path in found.items():
        if hashes.get(name) != content_hash(path.read_bytes()):
            raise StepError(
                f"can't write {folder}: its {name} is yours, not as stepgen wrote it: remove it, "
                f"or name another folder"
            )
    return {*found}


def _runs(experiment: Experiment) -> dict[str, Experiment]:
    """The runs of the bench by the name of their test: without stalls, and with."""
    stalls = experiment.stalls
    shares = dict(stalls.probability)
    if not shares:
        ports = [port.name for port in interface(experiment.design).ports]
        memory = MEMORY_CHANNELS if experiment.design.regions else ()
        shares = dict.fromkeys([*ports, *memory], SHARE)
    made = {"steady": {}, "stalled": shares}
    return {
        case: dataclasses.replace(
            experiment,
            built=experiment.design,
            stalls=dataclasses.replace(stalls, probability=probability),
        )
        for case, probability in made.items()
    }


def _plain(matrix: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return matrix.astype(np.float32) if matrix.dtype == ml_dtypes.bfloat16 else matrix


def _expected(run: Experiment) -> Arrays:
    """What leaves in a run: streams, and the tensors that are written."""
    reference, graph = run.reference, run.graph
    expected: Arrays = {}
    for name, output in graph.outputs.items():
        arrays = streamfile.pack(reference.streams[name], output.type.rank, name)
        expected |= {f"{name}/{key}": np.asarray(array) for key, array in arrays.items()}
    layout = layouts(graph)
    for name, stored in reference.stored.items():
        if stored.any() or name in run.design.regions:
            expected[name] = _plain(reference.tensors[name])
            expected[f"{name}/stored"] = from_image(stored, graph.tensors[name].shape, layout[name])
    return expected


def _predicted(run: Experiment, stimulus: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """In which cycles beats move, the length of the run, and counters."""
    if run.unpredicted:
        return {}
    case, design = run.case(), run.design
    assert case.counters is not None
    key = files.decisive(stimulus, *known(run.graph, design), run.numbers_decide)
    return {
        "decisive": np.array(key),
        "cycles": np.array(case.cycles),
        "counters": case.counters,
        **_moves(run),
    }


def _moves(run: Experiment) -> Arrays:
    """In which cycles beats move on ports, and what moves on the memory bus."""
    design, prediction = run.design, run.prediction
    moved: Arrays = dict.fromkeys(MEMORY_CHANNELS if design.regions else (), np.zeros(0, np.int64))
    for unit in design.units:
        outside = isinstance(unit.params, (Source, Sink))
        if not outside and not isinstance(unit.params, Axi):
            continue
        for cycles, channels in (
            (prediction.pops, unit.inputs),
            (prediction.pushes, unit.outputs),
        ):
            for port, channel in channels.items():
                moved[unit.name if outside else f"mem.{port}"] = cycles[channel]
    return moved


def known(graph: Graph, design: Design) -> tuple[list[Port], list[Tensor]]:
    """Input ports and tensors as the bench knows them."""
    ports = [port_of(port, graph, design) for port in interface(design).sources]
    return ports, _tensors(design)


def port_of(port: StreamPort, graph: Graph, design: Design) -> Port:
    stream = graph.inputs[port.name] if port.direction == "in" else graph.outputs[port.name]
    return Port(
        port.name,
        port.signal,
        port.element,
        design.lanes_at(port.name) if port.element == NO_DATA else port.lanes,
        port.bits,
        port.stop_bits,
        port.data_bits,
        wire_levels(stream.dtype),
        port.tail,
    )


def _tensors(design: Design) -> list[Tensor]:
    return [
        Tensor(name, region.element, region.base, region.rows, region.cols, region.tile)
        for name, region in design.regions.items()
    ]


def _computed(golden: Path, stimulus: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What a golden file computes; None where it does not do so for this program."""
    spec = importlib.util.spec_from_file_location("stepgen_golden", golden)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        computed: Mapping[str, Any] | None = module.expected(stimulus)
    except Exception as error:
        raise StepError(f"{golden} fails: {type(error).__name__}: {error}") from error
    return computed


def _check_golden(golden: Path | None, computed: Mapping[str, Any] | None, wanted: Arrays) -> None:
    """Check that a golden file computes what the reference does."""
    for name, rows in (computed or {}).items():
        if name not in wanted:
            raise StepError(f"{golden} computes {name}, but what leaves is {', '.join(wanted)}")
        found = {key: array.copy() for key, array in wanted.items()}
        try:
            files.put(found, name, rows)
        except ValueError as error:
            raise StepError(f"{golden}: {name} does not fit: {error}") from None
        for key, array in found.items():
            if not np.array_equal(array, wanted[key]):
                raise StepError(f"{golden} computes another {key} than the reference")


_TESTS = {
    "steady": "Nothing stalls.",
    "stalled": "Ports and memory stall in cycles that look random.",
}


def _values(
    experiment: Experiment, runs: Mapping[str, Experiment], golden: bool
) -> dict[str, dict[str, Any]]:
    """Values for each template."""
    design, graph = experiment.design, experiment.graph
    outside = interface(design)
    cases = [
        {"name": name, "says": _TESTS[name], "shares": run.stalls.probability}
        for name, run in runs.items()
    ]
    lengths = [run.prediction.cycles + MARGIN for run in runs.values() if not run.unpredicted]
    longest = max(lengths, default=experiment.case().limit)
    kernels = compiled(sources_of(design))
    shared = {
        "name": design.name,
        "top": outside.name,
        "memory": outside.memory is not None,
        "cases": cases,
    }
    facts = {
        "inputs": [port_of(p, graph, design) for p in outside.sources],
        "outputs": [port_of(p, graph, design) for p in outside.sinks],
        "tensors": _tensors(design),
        "registers": REGISTERS,
        "channels": outside.channels,
        "counters": COUNTERS,
        "channel_base": CHANNEL_BASE,
        "channel_stride": CHANNEL_STRIDE,
        "regions": outside.memory.windows if outside.memory else (),
        "timing": dataclasses.asdict(experiment.memory),
        "seed": experiment.stalls.seed,
        "early": list(experiment.early),
        "numbers_decide": experiment.numbers_decide,
        "longest": longest,
        "longest_unpredicted": UNPREDICTED * longest if lengths else longest,
    }
    return {
        "design.py.j2": shared | facts,
        "bench.py.j2": shared,
        "runner.py.j2": shared
        | {"kernels": [*kernels], "hash": hash_words(design.hash), "families": FAMILIES},
        "flow.py.j2": shared,
        "flow.cpp.j2": shared,
        "Makefile.j2": shared | {"golden": golden},
        "README.md.j2": shared | facts | {"golden": golden, "predicted": bool(lengths)},
        "pytest.ini.j2": shared,
        "ports.vlt.j2": shared | {"ports": list(_signals(design))},
    }


def _signals(design: Design) -> Iterator[str]:
    """All signals at the border of the design."""
    yield from ("clk", "rst", "running", "done", "cycle")
    outside = interface(design)
    yield from (f"csr_{name}" for name in Axi4Lite(outside.csr_bits).members)
    if outside.memory:
        bus = Axi4(outside.memory.address_bits, outside.memory.data_bits)
        yield from (f"mem_{name}" for name in bus.members)
    for port in outside.ports:
        yield from (f"{port.signal}_{end}" for end in ("valid", "ready", "payload"))
