"""Wrapped designs in a system on chip, beside a host, behind an interconnect."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from icarus import SIMULATORS
from own_bench import simulated
from wrapped_case import of_streams

import stepgen as sg
from stepgen.cosim.experiment import Experiment
from stepgen.emit.buses import BusPort, axi_buses
from stepgen.emit.design_writer import write
from stepgen.hw.design.table import Design
from stepgen.hw.names import verilog_name
from stepgen.program.program import Program, load
from stepgen.semantics.memory import TensorMemory

HERE = Path(__file__).parent
SIZES = {"tokens": 6, "experts": 2, "top": 1, "width": 8, "hidden": 8, "columns": 8}
ROWS = 24
ID = 4
"""Bits of the IDs of the host, of which the design needs one."""

IDS = ("arid", "awid", "rid", "bid")
ASKED = ("id", "addr", "len", "size", "burst", "valid", "ready")
"""Signals of a request that the interconnect looks at."""


def soc(design: Design) -> str:
    """Verilog of a system: the design, the interconnect and the bridge; the bench is the host."""
    registers, memory, *streams = axi_buses(design)
    seen = [s for s in memory.signals if s.name[0] != "a" or s.name[2:] in ASKED]
    asked = [s for s in registers.signals if "prot" not in s.name]
    bits = next(s.width for s in asked if s.name == "awaddr")
    host = [s._replace(width=ID) if s.name in IDS else s for s in seen]
    regs = [s._replace(width=32) if s.name.endswith("addr") else s for s in asked]
    outer = [BusPort(n, "aximm", False, tuple(s), {}) for n, s in (("host", host), ("regs", regs))]
    ports = [
        *("input wire clk", "input wire resetn", "input wire [31:0] seed"),
        *("input wire [7:0] stall", "output wire irq", "output wire broken"),
        *("output wire [31:0] overtaken", "output wire [31:0] contended"),
        *(declared(*port) for bus in (*outer, *streams) for port in bus.ports),
    ]
    wires = [
        *(f"wire [{s.width - 1}:0] d_{s.name};" for s in memory.signals),
        *(f"wire [{s.width - 1}:0] r_{s.name};" for s in asked),
        *(f"wire [{ID - 2}:0] spare_{name};" for name in ("rid", "bid")),
        *(
            f"assign {place}_{name} = 2'd0;"
            for place in ("host", "d")
            for name in ("rresp", "bresp")
        ),
    ]
    shared = {name: name for name in ("clk", "resetn", "seed", "stall")}
    faults = {name: name for name in ("broken", "overtaken", "contended")}
    instances = {
        f"{verilog_name(design.name)}_axi demo": {
            **{"aclk": "clk", "aresetn": "resetn", "irq": "irq"},
            **{f"m_axi_{s.name}": f"d_{s.name}" for s in memory.signals},
            **{f"s_axi_{s.name}": f"r_{s.name}" for s in asked},
            **{f"s_axi_{name}": "3'd0" for name in ("awprot", "arprot")},
            **{port: port for stream in streams for port, _, _ in stream.ports},
        },
        f"fabric #(.ID({ID})) fabric": {
            **shared,
            **faults,
            **{s.name: both(s.name) for s in seen if s.name not in ("rresp", "bresp")},
        },
        f"registers_bridge #(.BITS({bits})) bridge": {
            **shared,
            **{f"s_{s.name}": f"regs_{s.name}" for s in asked},
            **{f"m_{s.name}": f"r_{s.name}" for s in asked},
        },
    }
    made = [
        f"{head} ({', '.join(f'.{port}({net})' for port, net in pins.items())});"
        for head, pins in instances.items()
    ]
    return "\n".join([f"module soc ({', '.join(ports)});", *wires, *made, "endmodule\n"])


def declared(name: str, leaves: bool, width: int) -> str:
    return f"{'output' if leaves else 'input'} wire [{width - 1}:0] {name}"


def both(name: str) -> str:
    """A signal of both masters, the host's high."""
    low = {"a": f"{{{ID - 1}'d0, d_{name}}}"}.get(name[0], f"{{spare_{name}, d_{name}}}")
    return f"{{host_{name}, {low if name in IDS else f'd_{name}'}}}"


def gated() -> Program:
    """As in the README, with a tensor that is written and one that takes many bursts."""
    g = sg.Graph("gated")
    x = g.input("x", sg.int8[1, 8], (ROWS,))
    gate = g.input("gate", sg.Selector(1), (ROWS,))
    w, y = g.tensor("w", (8, 8), sg.int8), g.tensor("y", (ROWS, 8), sg.int32)
    (passed,) = sg.partition(x, gate, rank=0)
    tile = passed.promote().accum(sg.fn.retile_row(), rank=1)
    loaded = sg.linear_offchip_load(w, tile=(8, 8), shape=(1,), stride=(1,), ref=tile)
    product = tile.map(sg.fn.matmul(), loaded.flatten(0, 1))
    sg.linear_offchip_store(product.flat_map(sg.fn.retile_streamify("row"), rank=0), y)
    table = g.tensor("table", (64, 8), sg.int8)
    g.output(sg.linear_offchip_load(table, tile=(8, 8), shape=(8,), stride=(1,)), "tiles")
    rng = np.random.default_rng(5)
    inputs = {
        "x": rng.integers(-128, 128, (ROWS, 1, 8)).astype(np.int8),
        "gate": np.ones((ROWS, 1), bool),
        "w": rng.integers(-128, 128, (8, 8)).astype(np.int8),
        "table": rng.integers(-128, 128, (64, 8)).astype(np.int8),
    }
    return Program(g, inputs)


def demo() -> Program:
    return load("moe", {name: str(size) for name, size in SIZES.items()})


@pytest.mark.slow
@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("program", [gated, demo])
def test_a_design_beside_a_host(program, simulator, tmp_path):
    whole = program()
    experiment = Experiment(whole.graph, whole.inputs)
    design = experiment.design
    write(tmp_path, whole, design, wraps=["axi"])
    (tmp_path / "soc.v").write_text(soc(design))
    arrays = of_streams(experiment)
    before = TensorMemory(experiment.graph, experiment.inputs).images
    for name, image in experiment.reference.images.items():
        arrays[f"{name}/before"] = before[name].view(np.uint8)
        arrays[f"{name}/after"] = image.view(np.uint8)
    np.savez(tmp_path / "case.npz", **arrays)
    sources = [f"{design.name}{end}" for end in (".vlt", ".v", "_axi.v")] + ["soc.v"]
    sources.append(str(HERE / "interconnect.v"))
    said = simulated(tmp_path, "soc", sources, HERE / "host_of_soc.py", simulator)
    assert "PASS=3 FAIL=0" in said
