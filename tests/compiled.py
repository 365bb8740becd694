"""Circuits alone, compiled or in Amaranth's simulator: a word to every input in each cycle."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from amaranth.back import verilog
from amaranth.hdl import Elaboratable
from amaranth.sim import Simulator

from stepgen.cosim.objects import Source, compile_all, execute, link
from stepgen.tools.external import verilator

_MAIN = """
#include "Vtop.h"
#include <cstdint>
#include <cstdio>
int main() {
    Vtop top;
    uint32_t in[INPUTS];
    top.rst = 0;
    while (fread(in, 4, INPUTS, stdin) == INPUTS) {
        SET
        top.clk = 0, top.eval();
        top.clk = 1, top.eval();
        uint32_t out[] = {GET};
        fwrite(out, 4, OUTPUTS, stdout);
    }
}
"""
_DEFINES = ("COVERAGE", "SC", "TIMING", "TRACE", "TRACE_FST", "TRACE_VCD", "TRACE_SAIF")
_OWN = ("classes_fast", "classes_slow", "support_fast", "support_slow")


class Compiled:
    """A circuit with inputs and outputs of up to 32 bits.

    Parameters
    ----------
    circuit : wiring.Component
    inputs, outputs : sequence of str
        Names of its members.
    folder : Path
        Where it is built.
    """

    def __init__(self, circuit: Elaboratable, inputs, outputs, folder: Path):
        self.inputs, self.outputs, self.folder = inputs, outputs, folder
        (folder / "top.v").write_text(verilog.convert(circuit, name="top", emit_src=False))
        main = _MAIN.replace("INPUTS", str(len(inputs))).replace("OUTPUTS", str(len(outputs)))
        main = main.replace("SET", " ".join(f"top.{x} = in[{k}];" for k, x in enumerate(inputs)))
        (folder / "main.cpp").write_text(
            main.replace("GET", ", ".join(f"top.{y}" for y in outputs))
        )
        tool = verilator()
        options = ["--cc", "--prefix", "Vtop", "--top-module", "top", "--make", "json", "-O3"]
        options += ["--no-timing", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--Mdir", folder]
        execute([tool.binary, *options, "top.v"], cwd=folder, what="Verilator")
        made = json.loads((folder / "Vtop.json").read_text())["sources"]
        fixed = [Source(Path(p), ("-O2",), tool.version) for p in made["global"]]
        own = [Path(p) for key in _OWN for p in made.get(key, ())]
        rest = [Source(p, ("-O0", "-I.")) for p in (*own, folder / "main.cpp")]
        flags = ["-std=gnu++17", "-w", "-pipe", "-DVERILATOR=1", f"-I{tool.include}"]
        flags += [f"-I{tool.include / 'vltstd'}", *(f"-DVM_{what}=0" for what in _DEFINES)]
        link(compile_all([*fixed, *rest], folder, flags=flags), folder / "top")

    def run(self, words: Mapping[str, np.ndarray], latency: Mapping[str, int]):
        """What leaves by each output, `latency` cycles after the words of all inputs."""
        columns = [words[name].astype(np.uint32) for name in self.inputs]
        count = len(columns[0])
        fed = np.zeros((count + max(latency.values()), len(columns)), np.uint32)
        fed[:count] = np.stack(columns, axis=1)
        done = subprocess.run(
            [self.folder / "top"], input=fed.tobytes(), capture_output=True, check=True
        )
        seen = np.frombuffer(done.stdout, np.uint32).reshape(len(fed), -1)
        # A word that enters in a cycle has passed one register at its end.
        ends = {name: slice(n - 1, n - 1 + count) for name, n in latency.items()}
        return {name: seen[ends[name], k] for k, name in enumerate(self.outputs)}


class Simulated:
    """The same without a build, for few words."""

    def __init__(self, circuit: Elaboratable, inputs, outputs):
        self.circuit, self.inputs, self.outputs = circuit, inputs, outputs

    def run(self, words: Mapping[str, np.ndarray], latency: Mapping[str, int]):
        """What leaves by each output, `latency` cycles after the words of all inputs."""
        rows = zip(*(words[name].astype(np.uint32).tolist() for name in self.inputs), strict=True)
        seen = {name: [] for name in latency}

        async def bench(ctx):
            for row in [*rows, *[(0,) * len(self.inputs)] * max(latency.values())]:
                for name, word in zip(self.inputs, row, strict=True):
                    ctx.set(getattr(self.circuit, name), word)
                await ctx.tick()
                for name, found in seen.items():
                    found.append(ctx.get(getattr(self.circuit, name)))

        sim = Simulator(self.circuit)
        sim.add_clock(1e-6)
        sim.add_testbench(bench)
        sim.run()
        count = len(words[self.inputs[0]])
        ends = {name: slice(n - 1, n - 1 + count) for name, n in latency.items()}
        return {name: np.array(seen[name][end], np.uint32) for name, end in ends.items()}
