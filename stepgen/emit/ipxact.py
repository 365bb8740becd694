"""An IP-XACT description of the AXI wrapper of a design, as Vivado reads it (IEEE 1685-2009)."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterator

from stepgen.emit.buses import BusPort, axi_buses
from stepgen.emit.interface import Interface, interface
from stepgen.hw.design.registers import (
    CHANNEL_BASE,
    CHANNEL_STRIDE,
    COUNTERS,
    REGISTERS,
    WORD,
    Register,
)
from stepgen.hw.design.table import Design

VENDOR, LIBRARY, VERSION = "stepgen", "designs", "1.0"
"""What an IP is called beside its name; the version says nothing, as that of a core file."""

_SPACES = {
    "xmlns:spirit": "http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009",
    "xmlns:xilinx": "http://www.xilinx.com",
    "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
}
_ACCESS = {"read": "read-only", "write": "write-only"}
_VIEWS = {
    "xilinx_anylanguagesynthesis": ":vivado.xilinx.com:synthesis",
    "xilinx_anylanguagebehavioralsimulation": ":vivado.xilinx.com:simulation",
}
"""What the files are for, as Vivado calls it."""

_FAMILIES = (
    *("artix7", "kintex7", "virtex7", "spartan7", "zynq"),
    *("kintexu", "virtexu", "artixuplus", "kintexuplus", "virtexuplus", "zynquplus", "versal"),
)


def component(design: Design, verilog: Collection[str], included: Collection[str]) -> str:
    """The description, to lie beside the files as ``component.xml``.

    Parameters
    ----------
    design : Design
    verilog : collection of str
        Names of the files that tools read, in their order, the wrapper's the last.
    included : collection of str
        Names of those that the others include.
    """
    outside, buses = interface(design), axi_buses(design)
    module = f"{outside.name}_axi"
    root = _node(
        "component",
        _node("vendor", VENDOR),
        _node("library", LIBRARY),
        _node("name", module),
        _node("version", VERSION),
        _node("busInterfaces", *map(_bus, buses), *_single(buses)),
        *_address_spaces(outside),
        _node("memoryMaps", _registers(outside)),
        _node("model", _node("views", *_views(module)), _node("ports", *_ports(buses))),
        _node("fileSets", *_file_sets(verilog, included)),
        _node("description", f"{design.name}, written by stepgen, hash {design.hash}"),
        _node(
            "parameters",
            _parameter(
                "Component_Name",
                f"{module}_v{VERSION.replace('.', '_')}",
                **{"spirit:resolve": "user", "spirit:id": "PARAM_VALUE.Component_Name"},
            ),
        ),
        _extensions(module),
        **_SPACES,
    )
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _node(tag: str, *inside: ET.Element | str | int, **attributes: str) -> ET.Element:
    """An element, with others or with a text in it."""
    node = ET.Element(tag if ":" in tag else f"spirit:{tag}", attributes)
    for part in inside:
        if isinstance(part, ET.Element):
            node.append(part)
        else:
            node.text = str(part)
    return node


def _parameter(name: str, value: str, **attributes: str) -> ET.Element:
    return _node("parameter", _node("name", name), _node("value", value, **attributes))


def _kind(tag: str, library: str, name: str) -> ET.Element:
    """A reference to a kind of bus."""
    said = {"vendor": "xilinx.com", "library": library, "name": name, "version": "1.0"}
    return _node(tag, **{f"spirit:{key}": value for key, value in said.items()})


def _interface(
    name: str,
    kind: tuple[str, str],
    mode: ET.Element,
    ports: dict[str, str],
    parameters: dict[str, str],
) -> ET.Element:
    """An interface with the ports that it is made of, by what its kind calls them."""
    library, bus = kind
    maps = [
        _node(
            "portMap",
            _node("logicalPort", _node("name", logical)),
            _node("physicalPort", _node("name", port)),
        )
        for logical, port in ports.items()
    ]
    listed = [
        _parameter(key, value, **{"spirit:id": f"BUSIFPARAM_VALUE.{name.upper()}.{key}"})
        for key, value in parameters.items()
    ]
    return _node(
        "busInterface",
        _node("name", name),
        _kind("busType", library, bus),
        _kind("abstractionType", library, f"{bus}_rtl"),
        mode,
        _node("portMaps", *maps),
        *([_node("parameters", *listed)] if listed else []),
    )


def _bus(bus: BusPort) -> ET.Element:
    mode = _node("master" if bus.master else "slave")
    if bus.kind == "aximm":
        what = "addressSpaceRef" if bus.master else "memoryMapRef"
        mode.append(_node(what, **{f"spirit:{what}": bus.name}))
    ports = {s.name.upper(): f"{bus.name}_{s.name}" for s in bus.signals}
    return _interface(bus.name, ("interface", bus.kind), mode, ports, bus.parameters)


def _single(buses: Collection[BusPort]) -> Iterator[ET.Element]:
    """Clock, reset and interrupt."""
    clocked = {
        "ASSOCIATED_BUSIF": ":".join(bus.name for bus in buses),
        "ASSOCIATED_RESET": "aresetn",
    }
    yield _interface("aclk", ("signal", "clock"), _node("slave"), {"CLK": "aclk"}, clocked)
    low = {"POLARITY": "ACTIVE_LOW"}
    yield _interface("aresetn", ("signal", "reset"), _node("slave"), {"RST": "aresetn"}, low)
    high = {"SENSITIVITY": "LEVEL_HIGH"}
    yield _interface("irq", ("signal", "interrupt"), _node("master"), {"INTERRUPT": "irq"}, high)


def _address_spaces(outside: Interface) -> Iterator[ET.Element]:
    if outside.memory:
        yield _node(
            "addressSpaces",
            _node(
                "addressSpace",
                _node("name", "m_axi"),
                _long("range", 1 << outside.memory.address_bits),
                _long("width", outside.memory.data_bits),
            ),
        )


def _long(tag: str, number: int) -> ET.Element:
    return _node(tag, number, **{"spirit:format": "long"})


def _registers(outside: Interface) -> ET.Element:
    nodes = [node for register in REGISTERS for node in _words(register)]
    for number, channel in enumerate(outside.channels):
        base = CHANNEL_BASE + CHANNEL_STRIDE * number
        for counter in COUNTERS:
            said = f"{counter.meaning}, of channel {channel}"
            nodes.append(_register(f"{counter.name}_{number}", said, base, counter))
    block = _node(
        "addressBlock",
        _node("name", "registers"),
        _node("baseAddress", 0),
        _node("range", 1 << outside.csr_bits),
        _node("width", 8 * WORD),
        _node("usage", "register"),
        _node("access", "read-write"),
        *nodes,
    )
    return _node("memoryMap", _node("name", "s_axi"), block)


def _words(register: Register) -> Iterator[ET.Element]:
    """A register, or the two of a number."""
    ends = ("_low", "_high") if register.words == 2 else ("",)
    for k, end in enumerate(ends):
        yield _register(f"{register.name}{end}", register.meaning, WORD * k, register)


def _register(name: str, meaning: str, base: int, register: Register) -> ET.Element:
    fields = [
        _node(
            "field",
            _node("name", bit.name),
            _node("description", bit.meaning),
            _node("bitOffset", bit.position),
            _node("bitWidth", 1),
            _node("access", _ACCESS[register.access]),
        )
        for bit in register.bits
    ]
    return _node(
        "register",
        _node("name", name),
        *([_node("description", meaning)] if meaning else []),
        _node("addressOffset", f"0x{base + register.offset:X}"),
        _node("size", 8 * WORD),
        _node("access", _ACCESS[register.access]),
        *fields,
    )


def _views(module: str) -> Iterator[ET.Element]:
    for view, purpose in _VIEWS.items():
        yield _node(
            "view",
            _node("name", view),
            _node("envIdentifier", purpose),
            _node("language", "Verilog"),
            _node("modelName", module),
            _node("fileSetRef", _node("localName", f"{view}_view_fileset")),
        )


def _ports(buses: Collection[BusPort]) -> Iterator[ET.Element]:
    single = [("aclk", False, 1), ("aresetn", False, 1), ("irq", True, 1)]
    for name, leaves, width in (*single, *(port for bus in buses for port in bus.ports)):
        vector = _node("vector", _long("left", width - 1), _long("right", 0))
        types = [_node("viewNameRef", view) for view in _VIEWS]
        yield _node(
            "port",
            _node("name", name),
            _node(
                "wire",
                _node("direction", "out" if leaves else "in"),
                *([vector] if width > 1 else []),
                _node("wireTypeDefs", _node("wireTypeDef", _node("typeName", "wire"), *types)),
            ),
        )


def _file_sets(verilog: Collection[str], included: Collection[str]) -> Iterator[ET.Element]:
    for view in _VIEWS:
        files = []
        for file in (*included, *verilog):
            kind = "systemVerilogSource" if file.endswith(".sv") else "verilogSource"
            node = _node("file", _node("name", file), _node("fileType", kind))
            if file in included:
                node.append(_node("isIncludeFile", "true"))
            files.append(node)
        yield _node("fileSet", _node("name", f"{view}_view_fileset"), *files)


def _extensions(module: str) -> ET.Element:
    """What the catalog of Vivado shows. No Vivado has looked at it, so it promises nothing."""
    families = [_node("xilinx:family", f, **{"xilinx:lifeCycle": "Beta"}) for f in _FAMILIES]
    return _node(
        "vendorExtensions",
        _node(
            "xilinx:coreExtensions",
            _node("xilinx:supportedFamilies", *families),
            _node("xilinx:taxonomies", _node("xilinx:taxonomy", "/UserIP")),
            _node("xilinx:displayName", module),
            _node("xilinx:coreRevision", 1),
        ),
    )
