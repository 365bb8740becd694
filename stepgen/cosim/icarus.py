"""Builds a simulation with Icarus Verilog: four states, with X where nothing is defined.

The design is the Verilog that Verilator simulates, without initial values, and so is the bench. A
second root module looks for X in every cycle; ``docs/co-simulation.md`` says where.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import NamedTuple

from stepgen.cosim import cocotb_parts
from stepgen.cosim.building import FAST_BUILD, KEEP_BUILDS, room_of
from stepgen.cosim.forms import formed
from stepgen.cosim.objects import execute
from stepgen.cosim.render import render
from stepgen.cosim.verilator import SUPPORT
from stepgen.emit.interface import Interface, StreamPort
from stepgen.emit.kernels import compiled
from stepgen.hw.axi import Axi4, Axi4Lite, Bus
from stepgen.hw.design.table import Channel
from stepgen.ir.wire import KIND_BITS, VALUE
from stepgen.tools.atomic import atomic_folder
from stepgen.tools.cache import digest, prune
from stepgen.tools.external import find
from stepgen.tools.shipped import shipped
from stepgen.tools.waiting import Progress, quiet

Wires = tuple[tuple[str, str], ...]
"""Names for messages, and expressions."""

_BENCH = "stepgen_bench"
_WRITE = re.compile(
    r"^    if \((?P<enable>.+)\)\n"
    r"      (?P<name>\\\S+ |[^\s\[]+)\[(?P<row>.+?)\](?:\[[\d:]+\])? <= ",
    re.MULTILINE,
)
_READ = re.compile(r"^(?P<read>  assign .* = \S+ ?)\[(?P<row>\d+'h[0-9a-f]+)\];$", re.MULTILINE)


class Watched(NamedTuple):
    """Wires that are checked in every cycle.

    Attributes
    ----------
    where : str
        For messages.
    control : Wires
        Never X.
    valid, ready : str
        Handshake of `fields`.
    fields : Wires
        Never X where `valid` is high or, with a `delay`, so many cycles after a handshake.
    delay : int
    reset : str
        Of the pipeline in which the delay arises.
    """

    where: str
    control: Wires
    valid: str = ""
    ready: str = ""
    fields: Wires = ()
    delay: int = 0
    reset: str = ""


@dataclass(frozen=True)
class FourState:
    """A built simulation.

    Parameters
    ----------
    folder : Path
        Holds ``simulation.vvp``.
    interface : Interface
        Of the simulated design.
    seconds : float
        Build time; 0 if it was found in the cache.
    """

    folder: Path
    interface: Interface
    seconds: float

    @property
    def trace(self) -> bool:
        """Whether it can write waveforms."""
        return True

    def command(self, *, vcd: Path | None, seed: int) -> list[str]:
        """How cocotb is started in it; nothing in it is drawn from the seed."""
        vpi = cocotb_parts.interface_of("icarus")
        vvp = Path(str(find("iverilog").path)).with_name("vvp")
        command = [str(vvp), "-m", str(vpi), str(self.folder / "simulation.vvp")]
        return command + (["-none"] if vcd is None else [f"+vcd={vcd.resolve()}"])


def build(
    interface: Interface,
    verilog: str,
    channels: Sequence[Channel] = (),
    *,
    counted: Collection[str] = (),
    kernels: Mapping[str, str] | None = None,
    opt: str = FAST_BUILD,
    progress: Progress = quiet,
) -> FourState:
    """Build the simulation of a design, or find it in the cache.

    Parameters
    ----------
    interface : Interface
    verilog : str
        The design, without initial values.
    channels : sequence of Channel
        Its channels, which are watched at both ends.
    counted : collection of str
        Those whose beats say in a last lane how many elements they lack, which are undefined.
    kernels : mapping of str to str, optional
        Files of its Verilog kernels.
    opt : str
        One of those of `stepgen.cosim.verilator.build`, which says where the build is kept.
    progress : Progress

    Raises
    ------
    StepError
        Where Icarus is missing, or rejects the design.
    """
    tool = find("iverilog")
    sim = shipped("sim/verilator")
    wires = watched(interface, channels, counted)
    files = {
        "four_state.sv": render("four_state.sv.j2", interface, watched=wires),
        "design.v": for_icarus(verilog),
        "bench.sv": render("bench.sv.j2", interface, formed=formed(channels)),
        **{name: (sim / name).read_text(encoding="utf-8") for name in SUPPORT},
    }
    kernels = kernels or {}
    made_from = digest(
        str(tool.version), *(part for file in (*files.items(), *kernels.items()) for part in file)
    )
    folder = room_of(opt) / f"{interface.name}-icarus-{made_from}"
    if (folder / "simulation.vvp").exists():
        folder.touch()
        progress("simulation is up to date", 1.0)
        return FourState(folder, interface, 0.0)
    progress("translating Verilog", 0.0)
    start = time.monotonic()
    folder.parent.mkdir(parents=True, exist_ok=True)
    prune(folder.parent, KEEP_BUILDS)
    with atomic_folder(folder) as place:
        (place / "kernels").mkdir()
        for name, text in files.items():
            (place / name).write_text(text, encoding="utf-8")
        for name, text in kernels.items():
            (place / "kernels" / name).write_text(text, encoding="utf-8")
        execute(
            [
                *(str(tool.path), "-g2012", "-I.", "-Ikernels", "-o", "simulation.vvp"),
                *("-s", _BENCH, "-s", "stepgen_four_state"),
                *(name for name in files if not name.endswith(".svh")),
                *(f"kernels/{name}" for name in compiled(kernels)),
            ],
            cwd=place,
            what="Icarus Verilog",
        )
    progress("simulation is built", 1.0)
    return FourState(folder, interface, time.monotonic() - start)


def for_icarus(verilog: str) -> str:
    """A design that reports each memory write whose enable or address is X.

    All else in what Yosys writes is free of ``if`` and ``case``: an X in a condition goes on to the
    result. A write that depends on X would silently not happen.

    Icarus 11 does not always follow a memory that is read at a constant: a wire takes its place.
    """

    def watched(found: re.Match[str]) -> str:
        enable, name, row = found["enable"], found["name"].strip("\\ "), found["row"]
        report = f'stepgen_four_state.found($sformatf("%m"), "the {{}} of the memory {name}")'
        return (
            f"    if (`STEPGEN_IS_X({enable})) {report.format('write enable')};\n"
            f"    else if ({enable} && `STEPGEN_IS_X({row})) {report.format('write address')};\n"
            f"{found[0]}"
        )

    constants = count()

    def at_a_wire(found: re.Match[str]) -> str:
        wire = f"\\row${next(constants)} "
        return f"  wire [31:0] {wire} = {found['row']};\n{found['read']}[{wire}];"

    return _READ.sub(at_a_wire, _WRITE.sub(watched, verilog))


def watched(
    interface: Interface, channels: Sequence[Channel], counted: Collection[str]
) -> list[Watched]:
    """All wires that may not be X: of the registers, memory bus, ports and channels."""
    state = ("running", "cycle", "done", "error")
    made = [Watched("the design", tuple((name, f"{_BENCH}.{name}") for name in state))]
    if interface.control:
        made += _bus("control registers", "csr", Axi4Lite(interface.csr_bits), by_master=False)
    if interface.memory:
        bits, data = interface.memory.address_bits, interface.memory.data_bits
        made += _bus("memory bus", "mem", Axi4(bits, data), by_master=True)
    made += [_port(port) for port in interface.ports]
    return made + [_end(c, side, c.name in counted) for c in channels for side in ("tail", "head")]


def _bus(where: str, prefix: str, bus: Bus, *, by_master: bool) -> list[Watched]:
    """What a side of a bus drives: handshakes in any cycle, the rest while it is valid."""
    driven = {name: width for name, width, master in bus.wires() if master == by_master}
    shaking = tuple(name for name in driven if name.endswith(("valid", "ready")))
    made = [Watched(where, tuple((name, f"{_BENCH}.{prefix}_{name}") for name in shaking))]
    for valid in shaking:
        channel = valid.removesuffix("valid")
        names = [n for n in driven if n.startswith(channel) and n not in shaking]
        fields = {name: f"{_BENCH}.{prefix}_{name}" for name in names}
        if "wdata" in fields:
            data, strobe = fields.pop("wdata"), fields["wstrb"]
            for i in range(driven["wstrb"]):
                written = f"{strobe}[{i}] === 1'b1 ? {data}[{8 * i}+:8] : 8'd0"
                fields[f"byte {i} of wdata"] = written
        if fields:
            wires = tuple(fields.items())
            made.append(Watched(where, (), f"{_BENCH}.{prefix}_{valid}", fields=wires))
    return made


def _port(port: StreamPort) -> Watched:
    signal = f"{_BENCH}.{port.signal}"
    if port.direction == "in":
        return Watched(f"port {port.name}", (("ready", f"{signal}_ready"),))
    fields = _fields(port, f"{signal}_payload")
    valid = f"{signal}_valid"
    return Watched(f"port {port.name}", (("valid", valid),), valid, fields=fields)


def _end(channel: Channel, side: str, counted: bool) -> Watched:
    fifo = f"{_BENCH}.dut.accelerator.\\fifo_{channel.name} "
    stream = f"{fifo}.{'w' if side == 'tail' else 'r'}__"
    fields = _fields(channel, f"{stream}payload", counted)
    return Watched(
        f"channel {channel.name}, its {side}",
        (("valid", f"{stream}valid"), ("ready", f"{stream}ready")),
        f"{stream}valid",
        f"{stream}ready",
        fields,
        channel.delay if side == "tail" else 0,
        f"{fifo}.rst",
    )


def _fields(form: Channel | StreamPort, payload: str, counted: bool = False) -> Wires:
    """The fields of a beat; padding behind the end of a row, and what it lacks, mean nothing."""
    raw = form.raw if isinstance(form, StreamPort) else form.rank is None
    width, stop, lanes, bits = form.width, form.stop_bits, form.lanes, form.bits
    if raw:
        return (("the payload", payload),)
    ends = f"{payload}[1:0] === 2'd{VALUE} && {payload}[{KIND_BITS + stop - 1}:{KIND_BITS}] !== 0"
    parts = [("kind", KIND_BITS), ("stop", stop), *((f"lane {i}", bits) for i in range(lanes))]
    padding = {f"lane {i}" for i in range(form.tail, lanes)}
    fields, at = [], 0
    for name, size in parts:
        wire = f"{payload}[{at + size - 1}:{at}]"
        if form.tail and name in padding:
            wire = f"({ends}) ? {size}'d0 : {wire}"
        if counted and name.startswith("lane") and name != f"lane {lanes - 1}":
            end = width - bits  # of the lanes before the one that counts
            lane = (at - KIND_BITS - stop) // bits
            lacks = f"{payload}[{width - 1}:{end}] >= {lanes - 1 - lane}"
            wire = f"({lacks}) ? {size}'d0 : {wire}"
        if size:
            fields.append((f"{name} of a beat", wire))
        at += size
    if at < width:
        fields.append(("data of a beat", f"{payload}[{width - 1}:{at}]"))
    return tuple(fields)
