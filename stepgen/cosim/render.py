"""Rendering the files of ``templates/`` for a design."""

from __future__ import annotations

from typing import NamedTuple

from stepgen.emit.interface import Interface
from stepgen.hw.axi import Axi4, Axi4Lite, Bus
from stepgen.ir.stalls import MEMORY_CHANNELS
from stepgen.tools.templates import fill

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
    "refused_read",
    "refused_write",
    "refusal",
)


class Wire(NamedTuple):
    """A signal of a bus.

    Attributes
    ----------
    name : str
    range : str
        Its range as a declaration has it; empty for one bit.
    by_master : bool
        Whether the master drives it.
    """

    name: str
    range: str
    by_master: bool

    @property
    def channel(self) -> str:
        """The AXI channel: ar, r, aw, w or b."""
        return self.name[: 2 if self.name.startswith("a") else 1]

    @property
    def is_handshake(self) -> bool:
        """Whether it is valid or ready, no payload."""
        return self.name.endswith(("valid", "ready"))


def _wires(bus: Bus) -> list[Wire]:
    return [
        Wire(name, f"[{width - 1}:0] " if width > 1 else "", by_master)
        for name, width, by_master in bus.wires()
    ]


def _csr_signals(interface: Interface) -> list[Wire]:
    return _wires(Axi4Lite(interface.csr_bits)) if interface.control else []


def _axi_signals(interface: Interface) -> list[Wire]:
    memory = interface.memory
    return _wires(Axi4(memory.address_bits, memory.data_bits)) if memory else []


def bench_signals(interface: Interface) -> tuple[list[str], list[str]]:
    """Names of the inputs and of the outputs of the test bench's top module."""
    inputs = ["clk", "rst", "case_number", "load", "dump", "set_junk"]
    outputs = ["running", "cycle", "done", "error"]

    def add(name: str, is_input: bool) -> None:
        (inputs if is_input else outputs).append(name)

    for wire in _csr_signals(interface):
        add(f"csr_{wire.name}", wire.by_master)
    if not interface.control:
        add("go", True)
    for port in interface.ports:
        entering = port.direction == "in"
        add(f"{port.signal}_valid", entering)
        add(f"{port.signal}_ready", not entering)
        add(f"{port.signal}_payload", entering)
    if interface.memory:
        inputs += [f"set_{s}" for s in _SETTINGS] + ["refusing", "judge"]
        inputs += ["judge_rid", "judge_bid"]
        outputs += ["judge_arid", "judge_awid"]
        for wire in _axi_signals(interface):
            add(f"judge_{wire.name}", not wire.by_master)
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
    inputs, outputs = bench_signals(interface)
    return fill(
        template,
        name=interface.name,
        ports=interface.ports,
        channels=len(interface.channels),
        recorded=max(1, len(interface.recorded)),
        memory=interface.memory,
        control=interface.control,
        interface=interface,
        csr_signals=_csr_signals(interface),
        axi_signals=_axi_signals(interface),
        axi_channels=[name.partition(".")[2] for name in MEMORY_CHANNELS],
        inputs=inputs,
        outputs=outputs,
        **more,
    )
