from __future__ import annotations

import re

import pytest

from stepgen.cosim.render import render
from stepgen.emit.elaborate import verilog
from stepgen.emit.interface import MemoryPort, StreamPort, interface
from stepgen.hw.design.table import Bus, Channel, Design, Region, Unit
from stepgen.hw.units.load.params import Load
from stepgen.hw.units.memory.params import join
from stepgen.hw.units.sink.params import Sink
from stepgen.ir.errors import StepError


def reader(bits: int = 8, name: str = "a_reader") -> Design:
    """A load to a port."""
    bus = Bus(data_bits=32)
    load = Load(
        region="w", base=64, tile_bytes=bits, rows=2, beat_parts=bits // 2, shape=(1,), stride=(1,)
    )
    units, channels = join(bus, [("l_req", "l_data")], [])
    return Design(
        name,
        4,
        bus,
        (
            Unit("l", load, {"data": "l_data"}, {"out": "x", "req": "l_req"}),
            Unit("out", Sink(), {"x": "x"}, {}),
            *units,
        ),
        (Channel("x", 4, bits, 2), *load.channels("l", bus, 8), *channels),
        {"w": Region(64, bits + 2, 2, 4, (2, 4), "int8")},
    )


def test_the_ports_of_a_design() -> None:
    outside = interface(reader())
    assert outside.name == "a_reader"
    assert outside.ports == (StreamPort("out", "out", 4, 8, 2, 32),)
    assert outside.memory == MemoryPort(32, 32, ((64, 8),))
    assert outside.channels == ("x", "l_req", "l_data", "mem_ar", "mem_r")
    assert outside.csr_bits == 16


def test_the_ports_are_those_of_the_verilog() -> None:
    text = verilog(reader(), probes=True)
    top = text[text.index("module a_reader(") :]
    for line in (
        "output [35:0] out_payload;",
        "input [31:0] mem_rdata;",
        "output [3:0] mem_wstrb;",
        "input [15:0] csr_araddr;",
        "output [4:0] probe_pop;",
        "output [47:0] cycle;",
        "input rst;",
    ):
        assert line in top


def test_the_bench_connects_every_wire_of_the_buses() -> None:
    """With the width and the direction that they have in the Verilog."""
    text = verilog(reader(), probes=True)
    top = text.split("module a_reader(")[1].split("endmodule")[0]
    port = re.compile(r"^  (input|output) (\[\d+:0\] )?((?:csr|mem)_\w+);$", re.M)
    bench = render("bench.sv.j2", interface(reader()), formed=())
    outside = {"csr": "csr", "mem": "judge"}
    found = port.findall(top)
    assert len(found) == 17 + 25
    for way, span, name in found:
        bus, wire = name.split("_")
        assert f"    {way:6} logic {span}{outside[bus]}_{wire},\n" in bench
        assert f"      .{name}({name}),\n" in bench


def test_an_element_that_no_type_has() -> None:
    with pytest.raises(StepError, match="channel x: no element type has 64 bits"):
        interface(reader(bits=64))
