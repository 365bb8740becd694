"""Rendering the files of ``templates/`` for a design."""

from __future__ import annotations

import jinja2

from .files import shipped
from .interface import Interface

_CSR_SIGNALS = (
    ("input ", "address", "awaddr"),
    ("input ", "", "awvalid"),
    ("output", "", "awready"),
    ("input ", "[31:0] ", "wdata"),
    ("input ", "[3:0] ", "wstrb"),
    ("input ", "", "wvalid"),
    ("output", "", "wready"),
    ("output", "[1:0] ", "bresp"),
    ("output", "", "bvalid"),
    ("input ", "", "bready"),
    ("input ", "address", "araddr"),
    ("input ", "", "arvalid"),
    ("output", "", "arready"),
    ("output", "[31:0] ", "rdata"),
    ("output", "[1:0] ", "rresp"),
    ("output", "", "rvalid"),
    ("input ", "", "rready"),
)

_AXI_SIGNALS = (
    ("master", "address", "araddr"),
    ("master", "[7:0] ", "arlen"),
    ("master", "[2:0] ", "arsize"),
    ("master", "[1:0] ", "arburst"),
    ("master", "", "arvalid"),
    ("slave", "", "arready"),
    ("slave", "data", "rdata"),
    ("slave", "[1:0] ", "rresp"),
    ("slave", "", "rlast"),
    ("slave", "", "rvalid"),
    ("master", "", "rready"),
    ("master", "address", "awaddr"),
    ("master", "[7:0] ", "awlen"),
    ("master", "[2:0] ", "awsize"),
    ("master", "[1:0] ", "awburst"),
    ("master", "", "awvalid"),
    ("slave", "", "awready"),
    ("master", "data", "wdata"),
    ("master", "strobe", "wstrb"),
    ("master", "", "wlast"),
    ("master", "", "wvalid"),
    ("slave", "", "wready"),
    ("slave", "[1:0] ", "bresp"),
    ("slave", "", "bvalid"),
    ("master", "", "bready"),
)

_SETTINGS = (
    "words",
    "read_latency",
    "read_interval",
    "read_outstanding",
    "write_latency",
    "write_interval",
    "write_outstanding",
    "stall_keys",
    "stall_thresholds",
)

Signals = list[tuple[str, str, str]]


def _csr_signals(interface: Interface) -> Signals:
    if not interface.control:
        return []
    widths = {"address": f"[{interface.csr_bits - 1}:0] "}
    return [(d, widths.get(w, w), s) for d, w, s in _CSR_SIGNALS]


def _axi_signals(interface: Interface) -> Signals:
    memory = interface.memory
    if memory is None:
        return []
    widths = {
        "address": f"[{memory.address_bits - 1}:0] ",
        "data": f"[{memory.data_bits - 1}:0] ",
        "strobe": f"[{memory.word - 1}:0] ",
    }
    return [(d, widths.get(w, w), s) for d, w, s in _AXI_SIGNALS]


def bench_signals(interface: Interface) -> tuple[list[str], list[str]]:
    """Names of the inputs and of the outputs of the test bench's top module."""
    inputs = ["clk", "rst", "case_number", "load", "dump"]
    outputs = ["running", "cycle", "done", "error"]

    def add(name: str, is_input: bool) -> None:
        (inputs if is_input else outputs).append(name)

    for direction, _, signal in _csr_signals(interface):
        add(f"csr_{signal}", direction.strip() == "input")
    if not interface.control:
        add("go", True)
    for port in interface.ports:
        entering = port.direction == "in"
        add(f"{port.signal}_valid", entering)
        add(f"{port.signal}_ready", not entering)
        add(f"{port.signal}_payload", entering)
    if interface.memory:
        inputs += [f"set_{s}" for s in _SETTINGS] + ["judge", "judge_rid", "judge_bid"]
        outputs += ["judge_arid", "judge_awid"]
        for side, _, signal in _axi_signals(interface):
            add(f"judge_{signal}", side == "slave")
    return inputs, outputs


def render(template: str, interface: Interface, **more: object) -> str:
    """A file of ``templates/`` for a design.

    Parameters
    ----------
    template : str
        File name, such as ``"bench.sv.j2"``.
    interface : Interface
    **more
        Further values that the template uses.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(shipped("templates")),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,
    )
    inputs, outputs = bench_signals(interface)
    return environment.get_template(template).render(
        name=interface.name,
        ports=interface.ports,
        channels=len(interface.channels),
        recorded=max(1, len(interface.recorded)),
        memory=interface.memory,
        control=interface.control,
        interface=interface,
        csr_signals=_csr_signals(interface),
        axi_signals=_axi_signals(interface),
        inputs=inputs,
        outputs=outputs,
        **more,
    )
