"""Invalid input: one clear sentence, exit code 2, and earlier results are unchanged."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

MOE = "moe --set tokens=4 --set experts=2"
FAR = """\
import numpy as np

import stepgen as sg


def far():
    g = sg.Graph("far")
    at = g.input("at", sg.address[1, 1], (2,))
    w = g.tensor("w", (9, 8), sg.int8)
    g.output(at.random_offchip_load(w, tile=(1, 8), name="rows"), "y")
    return g, {"at": [[[1]], [[9]]], "w": np.zeros((9, 8), np.int8)}
"""
"""An access by address to the tile after the last."""

MISTAKES = [
    # Which program
    ("show", "Missing argument 'PROGRAM'."),
    ("show nix.py:f", "there is no file nix.py"),
    ("show p.py", "p.py needs the name of a function, as in p.py:layer"),
    ("show p.py:f", "p.py has no function 'f', it has layer, soft, dynamic, broken, mismatch, mlp"),
    ("show moo", "there is no program 'moo': give path.py:function, a design folder, or one of .*"),
    ("show p.py:broken", "p.py:broken can't be built: ZeroDivisionError at p.py:.*by zero"),
    (
        "show p.py:mismatch",
        r"map at p.py:\d+: .*1x4.*8x4.*4 against 8.*",
    ),
    ("show bad.py:f", r"bad.py:1 can't be read as Python: .*"),
    (
        "verilog evil.json",
        "the name of the graph at evil.json must be an ASCII identifier .*, not '../../x'",
    ),
    ("time p.py:layer --early w", "--early w: layer has no such input, only x, gate"),
    ("test p.py:layer --abort -1", "Invalid value for '--abort': .*"),
    ("bake moe", "No such command 'bake'."),
    # Parameters
    ("show moe --set", "Option '--set' requires an argument."),
    ("show moe --set tokens", "--set takes name=value, not 'tokens'"),
    ("show moe --set tokens=many", "moe.py:moe needs tokens to be an integer, not 'many'"),
    ("show moe --set token=1", "moe.py:moe has no parameter 'token', it has tokens, .*"),
    ("show moe --set tiling=odd", 'moe needs tiling "static", "dynamic" or "capped", not \'odd\''),
    ("show moe --frob", "No such option '--frob'."),
    ("show moe --seed -1", "Invalid value for '--seed': .*"),
    # Routing
    ("show p.py:layer --routing r.csv", "p.py:layer takes no routing: .*"),
    (f"show {MOE} --routing nix.csv", "can't read the routing nix.csv: No such file or .*"),
    (f"show {MOE} --routing p.py", "a routing is a file that ends in .npz, .npy or .csv, not p.py"),
    (f"show {MOE} --routing r.csv", r"moe needs a routing of 4 tokens to 2 .* shape \[2, 2\]"),
    (
        "show moe --set tokens=2 --set experts=2 --routing r.csv",
        "moe can't take the routing: it sends token . to expert 3, of the experts 0 to 1",
    ),
    (
        "show moe --routing twice.csv",
        "twice.csv is not a routing: it sends token 0 to expert 1 twice",
    ),
    ("show moe --lengths n.csv", "moe.py:moe takes no lengths: it has no parameter of that name"),
    ("show attention --lengths nix.csv", "can't read the list of lengths nix.csv: No such file .*"),
    # Inputs
    ("run p.py:dynamic", "the input x is .*N.*can't be drawn: .* --dim N=.*--inputs"),
    ("verilog p.py:dynamic --dim M=3", "--dim M: inputs of dynamic have no such dim, only N"),
    ("run p.py:layer --inputs nix.npz", "can't read the inputs nix.npz: No such file or .*"),
    ("run p.py:layer --inputs p.py", "p.py holds no inputs: it is no .npz file of plain arrays"),
    ("run p.py:layer --inputs wrong.npz", r"tensor w has shape \[8, 4\], but .* \[4, 8\]"),
    ("run p.py:layer --inputs short.npz", ".*x.*4.*3.*"),
    # The circuit
    ("verilog p.py:soft", r"map map_0 at p.py:\d+: .* weight tile of f32 Kx4 needs a bound of K.*"),
    ("time p.py:layer --lanes 3", "lanes must be a power of two.*not 3"),
    ("run p.py:layer --lanes 2,nothing=4", "the program layer has no operator .*'nothing'.*"),
    ("time p.py:layer --onchip nan", "--onchip takes a positive number of KiB, not nan"),
    (
        "time p.py:layer --onchip ulx3s",
        "--onchip takes a number of KiB or a board, alveo-u55c, .*, not 'ulx3s'",
    ),
    (
        "show p.py:layer --design --onchip icebreaker --set rows=40000",
        "the tensors of layer end at .* bytes, but iCEBreaker has 131,072 bytes of memory for .*",
    ),
    (
        "show p.py:layer --design --onchip 0.01",
        r"layer needs \S+ KiB on chip at least, not 0.01: .* less with .*",
    ),
    ("time p.py:layer --bus-bits 48", "bus: data width must be a power of two.*not 48"),
    ("time p.py:layer --burst 3", "bus: a burst must be a power of two.*not 3 beats.*"),
    ("time p.py:layer --outstanding 0", "bus: at least 1 read must be in flight, not 0"),
    ("time p.py:layer --cover 5000", "bus: a latency of 1 to 4,096 .*, not 5,000"),
    (
        "time p.py:layer --outstanding 1000000000000",
        "bus: at most 4,096 reads can be in flight, not 1,000,000,000,000",
    ),
    ("time p.py:layer --depth nix=4", "design layer has no channel nix"),
    ("time p.py:layer --depth x=deep", "--depth x takes a number of beats, not 'deep'"),
    ("time p.py:layer --depth x=1", "channel x: a FIFO needs a depth of at least 2, not 1"),
    ("time p.py:layer --depth x", "--depth takes name=value, not 'x'"),
    (
        "metrics moe --policy cheap",
        "metrics at the command line: there is no policy 'cheap', those are .*hardware",
    ),
    # When it moves
    ("time p.py:layer --latency 0", "memory timing: read_latency must be 1 to .*, not 0"),
    ("time p.py:layer --stall nix=0.5", "there is nothing called 'nix' to stall, only x, gate, .*"),
    ("time p.py:layer --stall x=1", "stalls: x must stall in a share of .*not 1.0"),
    ("time p.py:layer --stall x=often", "--stall x takes a share of cycles, not 'often'"),
    (
        "time moe --set tokens=16 --set experts=2 --depth route_to_reassemble_0=2",
        "design moe_dynamic deadlocks in cycle .*(full, 2 of 2).*a depth of .* frees it",
    ),
    ("test p.py:layer --driver car", "the driver must be one of cocotb, cpp.*not 'car'"),
    # Where results go
    (
        "verilog p.py:layer --package vivado",
        "the package for Vivado is of the AXI wrapper, there is none: give --wrap axi",
    ),
    ("verilog p.py:layer --package rpm", "Invalid value for '--package': 'rpm' is not one of .*"),
    ("verilog p.py:layer -o p.py", "can't write p.py: it is a file"),
    ("verilog p.py:layer -o p.py/x", "can't write p.py/x: p.py is a file"),
    ("run p.py:layer --out .", r"--out is a file that ends in .npz, not \."),
    ("run p.py:layer --out p.py/x.npz", "can't write p.py/x.npz: p.py is a file"),
    ("time p.py:layer --timeline p.py/x.png", "can't write p.py/x.png: p.py is a file"),
    ("time p.py:layer --perfetto p.py/x.json", "can't write p.py/x.json: p.py is a file"),
    (
        "time p.py:layer --timeline x.doc",
        "--timeline is a file that ends in .*, not x.doc",
    ),
    ("test p.py:layer -o p.py", "can't write p.py: it is a file"),
    *(
        (
            f"{command} far.py:far",
            r"rows \(far.py:10\): .* asks for tile 9 of tensor w, which has 9 .*",
        )
        for command in ("run", "test")
    ),
    ("demo -o p.py", "can't write p.py: it is a file"),
    ("demo --set tokens=x", "moe.py:moe needs tokens to be an integer, not 'x'"),
]


@pytest.fixture
def files(here):
    (here / "bad.py").write_text("def f(:\n")
    (here / "far.py").write_text(FAR)
    evil = {"stepgen": 1, "name": "../../x", "tensors": [], "feedbacks": [], "nodes": []}
    (here / "evil.json").write_text(json.dumps(evil))
    (here / "r.csv").write_text("0,1\n3,0\n")
    (here / "n.csv").write_text("5\n7\n")
    (here / "twice.csv").write_text("1,1\n")
    np.savez(here / "wrong.npz", w=np.zeros((4, 8)))
    np.savez(here / "short.npz", x=np.zeros((3, 1, 8)))
    return here


@pytest.mark.parametrize(("line", "sentence"), MISTAKES, ids=[line for line, _ in MISTAKES])
def test_mistake(stepgen, files, line, sentence):
    before = snapshot(files)
    said = stepgen(line)
    assert said.code == 2
    assert said.out == ""
    *progress, last = said.err.splitlines()
    assert re.fullmatch(f"stepgen: {sentence}", last)
    assert not any("Traceback" in p for p in progress)
    assert len([p for p in progress if "compil" not in p and "so far" not in p]) <= 2
    assert snapshot(files) == before


@pytest.mark.parametrize("line", [line for line, _ in MISTAKES if line != "show moe --set"])
def test_a_mistake_is_json_with_json(stepgen, files, line):
    said = stepgen(f"{line} --json")
    assert said.code == 2
    assert set(said.json) == {"error", "code"}
    assert said.json["code"] == 2
    assert "\n" not in said.json["error"]
    assert "stepgen:" not in said.err


@pytest.mark.parametrize(
    "line", ["verilog p.py:layer -o out --depth nix=3", "test p.py:layer -o out --latency 0"]
)
def test_earlier_results_stay(stepgen, here, line):
    assert stepgen("verilog p.py:layer -o out").code == 0
    before = snapshot(here)
    assert stepgen(line).code == 2
    assert snapshot(here) == before


def snapshot(folder: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and "__pycache__" not in p.parts
    }
