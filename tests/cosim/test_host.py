"""The host library in C, compiled and run against the Verilog of a design."""

from __future__ import annotations

import ctypes
import itertools
import subprocess
from pathlib import Path

import numpy as np
import pytest
from icarus import SIMULATORS
from own_bench import simulated

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.cosim.experiment import Experiment
from stepgen.emit.design_writer import write
from stepgen.emit.host import host_library
from stepgen.emit.interface import interface
from stepgen.emit.registers import c_header
from stepgen.hw.design.registers import DETAIL, ERROR_CODE, detail_of
from stepgen.ir.errors import StepError
from stepgen.program.program import load

SIZES = {"m": 4, "n": 8, "k": 8, "tile_m": 2, "tile_n": 4, "tile_k": 4}
STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic")


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_the_host_gets_the_reference(simulator, tmp_path):
    program = load("matmul", {"element": "int8", **{k: str(v) for k, v in SIZES.items()}})
    experiment = Experiment(program.graph, program.inputs)
    write(tmp_path, program, experiment.design, host=True)
    case = experiment.case()
    np.savez(
        tmp_path / "case.npz",
        a=program.inputs["a"].astype(np.int8),
        b=program.inputs["b"].astype(np.int8),
        c=experiment.reference.tensors["c"],
        cycles=case.cycles,
        words=[case.read_beats, case.write_beats],
        counters=case.counters,
        channels=[channel.name for channel in experiment.design.channels],
    )
    command = ["cc", "-std=c99", *STRICT, "-shared", "-fPIC", "matmul_host.c", "-o", "host.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    bench = Path(__file__).with_name("hosted.py")
    said = simulated(tmp_path, "matmul", ["matmul.vlt", "matmul.v"], bench, simulator)
    assert "PASS=1 FAIL=0" in said


def test_the_library_is_c_and_cplusplus_also_without_tensors(tmp_path):
    g = sg.Graph("plain")
    g.output(g.input("x", sg.int8[1, 4], (3,)).promote(), "y")
    design = lower(g, lanes=4)
    names = [channel.name for channel in design.channels]
    (tmp_path / "plain_registers.h").write_text(c_header("plain", channels=names))
    for name, text in host_library(design).items():
        (tmp_path / name).write_text(text)
    for compiler in (["cc", "-std=c99"], ["c++", "-x", "c++"]):
        source = "plain_host.c" if compiler[0] == "cc" else "plain_host.h"
        subprocess.run([*compiler, *STRICT, "-fsyntax-only", source], cwd=tmp_path, check=True)


def test_it_says_what_an_error_is(tmp_path):
    """For every code and cause, registers that hold them; as the benches say it."""
    g = sg.Graph("far")
    w = g.tensor("w", (9, 8), sg.int8)
    rows = g.input("at", sg.address[1, 1], (3,)).random_offchip_load(w, tile=(1, 8))
    kept = g.input("x", sg.int8[1, 8], (3, sg.ragged("D"))).bufferize(rank=1, most=4)
    g.output(rows, "y")
    g.output(kept.streamify(), "z")
    design = lower(g, lanes=4)
    known = interface(design)
    header = c_header("far", channels=known.channels, units=known.units)
    (tmp_path / "far_registers.h").write_text(header)
    for name, text in host_library(design).items():
        (tmp_path / name).write_text(text)
    command = ["cc", "-std=c99", *STRICT, "-shared", "-fPIC", "far_host.c", "-o", "host.so"]
    subprocess.run(command, cwd=tmp_path, check=True)

    reads = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32)

    class Access(ctypes.Structure):
        _fields_ = [("read", reads), *((n, ctypes.c_void_p) for n in ("write", "get", "put", "c"))]

    class Error(ctypes.Structure):
        _fields_ = [
            ("before", ctypes.c_char_p),
            ("number", ctypes.c_uint32),
            ("behind", ctypes.c_char_p),
        ]

    library = ctypes.CDLL(str(tmp_path / "host.so"))
    library.far_explain.restype = Error
    texts = set()
    for code, cause in itertools.product(range(len(design.units) + 2), range(6)):
        held = {ERROR_CODE.offset: code, DETAIL.offset: detail_of(cause, 37)}
        access = Access(reads(lambda _, at, held=held: held[at]))
        error = library.far_explain(ctypes.byref(access))
        said = (error.before or b"").decode()
        if error.behind is not None:
            said += f"{error.number}{error.behind.decode()}"
        texts.add(said)
        causes = {one.cause for one in known.errors if known.units[code - 1 : code] == (one.unit,)}
        if cause in causes or 0 in causes or not causes:
            assert said == known.explained(code, detail_of(cause, 37)), (code, cause)
    assert any("is to read tile 37 of w, which has 9 tiles, as at says" in text for text in texts)
    assert any("stores a buffer of x of 37 rows, and has memory for 4" in text for text in texts)


def test_tensors_that_differ_in_case_alone_are_refused():
    g = sg.Graph("twice")
    for name in ("w", "W"):
        rows = sg.linear_offchip_load(
            g.tensor(name, (4, 4), sg.int8), tile=(4, 4), shape=(1,), stride=(1,)
        )
        g.output(rows, f"of_{name}")
    with pytest.raises(StepError, match="can't have both tensors w and W"):
        host_library(lower(g, lanes=4))
