"""Saved graphs and designs that have functions and operators of a user's own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from stepgen.hw.design.params import UnitParams
from stepgen.hw.units import load_all
from stepgen.ir import function, operator

OWN = '''
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import stepgen as sg
from stepgen.functions import Unary
from stepgen.hw.verilog_kernel.params import VerilogKernel
from stepgen.ir.own import OwnOperator
from stepgen.ir.stream import Out
from stepgen.ir.wire import DONE


@dataclass(frozen=True)
class Wires(VerilogKernel):
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)
    sources: ClassVar = ("wires.v",)
    model: ClassVar = None

    def parameters(self, ports):
        return {"WIDTH": ports["x"].width}


class Unchanged(Unary):
    elements = (sg.int8,)

    def compute(self, at, x):
        return x

    def unit(self, lanes, tiles, without_stops):
        return Wires()


class Passed(OwnOperator):
    """The stream as it is."""

    def __call__(self, x: sg.Stream):
        return self.add((x,), {})[0]

    def infer(self, call):
        (x,) = call.inputs
        return [Out(x.shape, x.dtype, dict(enumerate(x.totals)), x.volume)]

    def run(self, use):
        while True:
            (token,) = yield from use.take_all(use.inputs)
            use.outputs[0].put(token)
            if token.kind == DONE:
                return


def layer():
    g = sg.Graph("layer")
    g.output(g.input("x", sg.int8[2, 8], (3,)).map(sg.fn.unchanged()), "y")
    return g


def passing():
    g = sg.Graph("passing")
    g.output(Passed()(g.input("x", sg.int8[2, 8], (3,))), "y")
    return g
'''
WIRES = """
module wires #(parameter WIDTH = 1) (
    input wire clk, input wire rst,
    input wire x_valid, output wire x_ready, input wire [WIDTH-1:0] x_payload,
    output wire y_valid, input wire y_ready, output wire [WIDTH-1:0] y_payload
);
  assign x_ready = y_ready;
  assign y_valid = x_valid;
  assign y_payload = x_payload;
endmodule
"""


@pytest.fixture
def forget(here: Path, monkeypatch: pytest.MonkeyPatch):
    """Write the user's files; what it returns makes this process like one that saw none of them."""
    (here / "own.py").write_text(OWN)
    (here / "wires.v").write_text(WIRES)
    load_all()
    function.function_types()
    tables = (function._KINDS, operator.OWN, UnitParams.kinds)
    before = [dict(table) for table in tables]

    def forgotten() -> None:
        for table, known in zip(tables, before, strict=True):
            table.clear()
            table.update(known)
        sys.modules.pop("stepgen_program_own", None)

    yield forgotten
    forgotten()


@pytest.mark.parametrize(
    ("program", "missing"),
    [
        ("layer", "there is no function 'unchanged', those are"),
        ("passing", "no operator 'passed';"),
    ],
)
@pytest.mark.parametrize("command", ["show", "metrics", "run", "time", "simulate"])
def test_a_saved_graph_is_loaded_with_the_files_that_it_needs(
    stepgen, forget, here: Path, program: str, missing: str, command: str
) -> None:
    (here / "saved.json").write_text(stepgen(f"show own.py:{program} --json").out)
    whole = stepgen(f"{command} own.py:{program}")
    forget()
    alone = stepgen(f"{command} saved.json")
    assert alone.code == 2
    assert missing in alone.err
    known = "one of your own is known once its module is imported, as by --import FILE.py"
    assert alone.err.endswith(f"{known}\n")
    again = stepgen(f"{command} saved.json --import own.py")
    assert (again.code, again.out) == (whole.code, whole.out)


def test_a_design_folder_is_loaded_with_the_files_that_it_needs(stepgen, forget) -> None:
    assert stepgen("verilog own.py:layer -o design").code == 0
    forget()
    alone = stepgen("show design --design")
    assert alone.code == 2
    assert "there is no kind of unit 'wires', nearest are " in alone.err
    assert stepgen("show design --design --import own.py").code == 0
    forget()
    again = stepgen("verilog design -o design --import own.py")
    assert again.code == 0
    assert "is not built again" in again.out


def test_what_can_not_be_imported_is_reported(stepgen, forget, here: Path) -> None:
    (here / "saved.json").write_text(stepgen("show own.py:layer --json").out)
    said = stepgen("show saved.json --import other.py")
    assert (said.code, said.err) == (2, "stepgen: there is no file other.py\n")
    (here / "other.py").write_text("def f(:")
    said = stepgen("show saved.json --import other.py")
    assert said.code == 2
    assert said.err.startswith("stepgen: other.py:1 can't be read as Python")
    said = stepgen("show saved.json --import wires.v")
    assert (said.code, said.err) == (2, "stepgen: wires.v can't be read as Python\n")


def test_an_imported_file_is_not_overwritten(stepgen, forget, here: Path) -> None:
    (here / "saved.json").write_text(stepgen("show own.py:layer --json").out)
    (here / "trace.json").symlink_to("own.py")
    said = stepgen("simulate saved.json --import own.py --perfetto trace.json")
    assert (said.code, said.err) == (
        2,
        "stepgen: can't write trace.json: it is an input of the same command\n",
    )
    assert (here / "own.py").read_text() == OWN
