"""A systolic array of Calyx: made, and its products compared with numpy's in Verilator."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.others.tools import MissingTool, printed, synthesized
from stepgen.tools import external

VERSION = "0.7.1"
SCRIPT = Path(__file__).parent / "calyx_array.py"
CLOCK = """#include "Vbench.h"
int main() {
  VerilatedContext context;
  Vbench bench{&context};
  while (!context.gotFinish()) { bench.clk = !bench.clk; bench.eval(); context.timeInc(1); }
}
"""
"""What drives the clock of the test bench."""


def systolic_array(folder: Path, size: int, sum_bits: int) -> tuple[Path, str]:
    """The netlist of an array of `size` x `size`, and how long its product takes.

    Raises
    ------
    MissingTool
        If there is no Calyx, or no clone of its repository.
    """
    sources, compiler = os.environ.get("CALYX_SOURCES"), shutil.which("calyx")
    if not sources or not compiler:
        raise MissingTool(
            f"Calyx needs `cargo install calyx --version {VERSION}` on PATH, and CALYX_SOURCES: a "
            "clone of its repository at that version"
        )
    array = printed([sys.executable, SCRIPT, sources, size, sum_bits], folder)
    (folder / "array.futil").write_text(array)
    options = ["-l", sources, "-b", "verilog", "-p", "external", "--synthesis", "--nested"]
    # With -o the modules of its library would be missing.
    (folder / "array.v").write_text(printed([compiler, "array.futil", *options], folder))
    version = re.search(r"\d\S*", printed([compiler, "--version"], folder))
    cycles = _cycles(folder, size, sum_bits)
    said = f"a product of {size} x {size} x {size} takes {cycles} cycles in Verilator"
    return (
        synthesized(folder, "main", ["array.v"]),
        f"Calyx {version[0] if version else ''}, sums of {sum_bits} bits: {said}.",
    )


def _cycles(folder: Path, size: int, sum_bits: int) -> int:
    """Cycles of one product, whose values have to be those of numpy."""
    left, top = np.random.default_rng(0).integers(-128, 128, (2, size, size))
    (folder / "bench.sv").write_text(_bench(left, top, sum_bits))
    (folder / "main.cpp").write_text(CLOCK)
    tool = external.verilator()
    words = [tool.binary, "--cc", "--exe", "--build", "-Wno-fatal", "-Wno-lint"]
    words += ["--top-module", "bench", "bench.sv", "array.v", "main.cpp"]
    printed(words, folder, {**os.environ, "VERILATOR_ROOT": str(tool.root)})
    lines = [line.split() for line in printed([folder / "obj_dir" / "Vbench"], folder).splitlines()]
    found, half = np.zeros((size, size), int), 1 << sum_bits - 1
    for row, column, value in (map(int, line[1:]) for line in lines if line[0] == "sum"):
        found[row, column] = value
    wanted = (left @ top + half) % (2 * half) - half
    if not np.array_equal(found, wanted):
        raise RuntimeError(f"the array computes {found.tolist()}, not {wanted.tolist()}")
    return next(int(line[1]) for line in lines if line[0] == "cycles")


def _bench(left: npt.NDArray[np.int64], top: npt.NDArray[np.int64], sum_bits: int) -> str:
    """A test bench with the memories: rows of `left`, columns of `top`, rows of sums."""
    size = len(left)
    parts, ports = [], ["clk", "reset", "go", "done"]
    for name, memories in (("l", left), ("t", top.T)):
        for number, numbers in enumerate(memories):
            one = f"{name}{number}"
            rows = ", ".join(f"8'd{value % 256}" for value in numbers)
            parts.append(f"logic [7:0] {one} [0:{size - 1}] = '{{{rows}}}; wire [3:0] {one}_a;")
            ports += [f"{one}_addr0({one}_a)", f"{one}_read_data({one}[{one}_a[2:0]])"]
    for row in range(size):
        one = f"out_mem_{row}"
        parts += [
            f"wire [3:0] {one}_a; wire signed [{sum_bits - 1}:0] {one}_d; wire {one}_w;",
            f"logic {one}_done; always @(posedge clk) {one}_done <= {one}_w;",
            f'always @(posedge clk) if ({one}_w) $display("sum {row} %0d %0d", {one}_a, {one}_d);',
        ]
        ports += [f"{one}_addr0({one}_a)", f"{one}_write_data({one}_d)"]
        ports += [f"{one}_write_en({one}_w)", f"{one}_done({one}_done)"]
    body, connected = "\n".join(parts), ", ".join(f".{port}" for port in ports)
    return f"""module bench (input clk);
logic reset = 1, go = 0; wire done; int cycles = 0, at = 0;
{body}
main dut ({connected});
always @(posedge clk) begin
  at <= at + 1; reset <= at < 4; go <= at >= 8;
  if (go) cycles <= cycles + 1;
  if (go & done) begin $display("cycles %0d", cycles); $finish; end
  if (at > 1000) $fatal;
end
endmodule
"""
