"""Builds a simulation of a design with Verilator, and runs it without Python.

Verilator's binary is called directly and its C++ files are compiled here: neither make nor perl is
needed, the files that are the same for every design are compiled once per host, and progress
can be shown. A simulation is cached under a hash of everything it was built from, so an unchanged
design is never built twice.
"""

from __future__ import annotations

import importlib.metadata
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stepgen.cosim import cocotb_parts
from stepgen.cosim.building import (
    FAST_BUILD,
    KEEP_BUILDS,
    LEAST_BUILD,
    compile_model,
    room_of,
    translate,
    versions,
)
from stepgen.cosim.forms import formed
from stepgen.cosim.objects import link
from stepgen.cosim.render import render
from stepgen.cosim.scoreboard import Outcome, read_outcome
from stepgen.cosim.waveform import without_clutter
from stepgen.emit.interface import Interface
from stepgen.emit.kernels import compiled
from stepgen.emit.registers import c_header
from stepgen.hw.design.table import Channel
from stepgen.ir.errors import StepError
from stepgen.ir.wire import DONE, KIND_MASK
from stepgen.tools import children
from stepgen.tools.cache import digest, kept
from stepgen.tools.shipped import shipped
from stepgen.tools.waiting import Progress, quiet

_WIRE = (f"-DSTEPGEN_DONE={DONE}", f"-DSTEPGEN_KIND_MASK={KIND_MASK}")
SUPPORT = ("axi_memory.sv", "axi_checks.sv", "recorder.sv", "stalls.svh")
_PROGRAM_FILES = ("driver.cpp", "recorder.cpp", "model.h", "cocotb/Vtop.h")
_KERNELS = "kernels"
"""Folder of the files of Verilog kernels, whose names are the users'."""


@dataclass(frozen=True)
class Simulation:
    """A built simulation.

    Parameters
    ----------
    folder : Path
        Holds the programs ``driver`` and ``cocotb``, the design and its test bench.
    interface : Interface
        Interface of the simulated design.
    trace : bool
        Whether it can write waveforms.
    seconds : float
        Build time; 0 if it was found in the cache.
    """

    folder: Path
    interface: Interface
    trace: bool
    seconds: float

    @property
    def driver(self) -> Path:
        """Program that runs cases without Python."""
        return self.folder / "driver"

    @property
    def cocotb(self) -> Path:
        """Program in which cocotb runs."""
        return self.folder / "cocotb"

    def command(self, *, vcd: Path | None, seed: int) -> list[str]:
        """How that program is started."""
        command = [str(self.cocotb), *random_arguments(seed)]
        return command + ([] if vcd is None else ["--trace", "--trace-file", str(vcd.resolve())])


def build(
    interface: Interface,
    verilog: Path | str,
    channels: Sequence[Channel] = (),
    *,
    kernels: Mapping[str, str] | None = None,
    opt: str = FAST_BUILD,
    trace: bool = False,
    progress: Progress = quiet,
) -> Simulation:
    """Build the simulation of a design, or find it in the cache.

    Parameters
    ----------
    interface : Interface
        The interface of the design.
    verilog : Path or str
        The design: a file, or the text itself.
    channels : sequence of Channel
        Its channels, whose beats are looked at.
    kernels : mapping of str to str, optional
        Files of its Verilog kernels.
    opt : "fast-build", "fast-run" or "least-build"
        Whether to minimize build time (tests) or run time (long runs), or to build the C++ driver
        alone and as fast as can be (many designs, short runs).
    trace : bool
        Whether the simulation can write waveforms; it is slower then.
    progress : Progress
        Called with the current step.

    Returns
    -------
    Simulation

    Raises
    ------
    StepError
        Where a tool is missing or rejects the design.
    """
    basis = versions(opt)
    text = verilog.read_text(encoding="utf-8") if isinstance(verilog, Path) else verilog
    sim = shipped("sim/verilator")
    libraries = cocotb_parts.libraries()
    files = {
        "design.v": without_clutter(text) if trace else text,
        "bench.sv": render("bench.sv.j2", interface, formed=formed(channels)),
        "glue.cpp": render("glue.cpp.j2", interface, trace=trace),
        "public.vlt": render("public.vlt.j2", interface, trace=trace),
        "registers.h": c_header("stepgen"),
        **{f"{_KERNELS}/{name}": content for name, content in (kernels or {}).items()},
    }
    support = {name: (sim / name).read_bytes() for name in (*SUPPORT, *_PROGRAM_FILES)}
    flags = _verilator_flags(trace=trace, least=opt == LEAST_BUILD)
    made_from = digest(
        *basis,
        str(libraries),
        importlib.metadata.version("cocotb"),
        *_WIRE,
        *flags,
        *(part for file in files.items() for part in file),
        *support.values(),
    )
    folder = room_of(opt) / f"{interface.name}-{made_from}"
    begun = time.monotonic()

    def make(place: Path) -> dict[str, object]:
        _build_in(place, files, flags, opt, trace, progress)
        return {"opt": opt, "trace": trace, "seconds": time.monotonic() - begun}

    if kept(folder, made_from, make, keep=KEEP_BUILDS)["there"]:
        progress("simulation is up to date", 1.0)
        return Simulation(folder, interface, trace, 0.0)
    progress("simulation is built", 1.0)
    return Simulation(folder, interface, trace, time.monotonic() - begun)


def _verilator_flags(*, trace: bool, least: bool) -> list[str]:
    # Wide operations word by word make more C++, which takes longer to compile than to run.
    return (["-fno-expand"] if least else ["--vpi"]) + (["--trace-vcd"] if trace else [])


def _build_in(
    place: Path,
    files: dict[str, str],
    verilator_flags: Sequence[str],
    opt: str,
    trace: bool,
    progress: Progress,
) -> None:
    sim = shipped("sim/verilator")
    libraries = cocotb_parts.libraries()
    (place / _KERNELS).mkdir()
    for name, content in files.items():
        (place / name).write_text(content, encoding="utf-8")
    progress("translating Verilog to C++", 0.0)
    sources: list[str | Path] = [
        *(sim / name for name in SUPPORT if name.endswith(".sv")),
        *("design.v", "bench.sv"),
        *(name for name in compiled(files) if name.startswith(_KERNELS)),
    ]
    flags = [*verilator_flags, f"-I{sim}", f"-I{_KERNELS}", "public.vlt"]
    made = translate(place, "stepgen_bench", flags, sources)
    mains: list[tuple[Path, Sequence[str]]] = [
        (sim / "driver.cpp", (f"-I{sim}", "-I.", *_WIRE)),
        *([] if opt == LEAST_BUILD else [(cocotb_parts.main_program(), (f"-I{sim / 'cocotb'}",))]),
    ]
    objects = compile_model(
        place,
        made,
        [*mains, (sim / "recorder.cpp", ())],
        opt=opt,
        trace=trace,
        fixed_by=files["registers.h"],
        progress=progress,
    )
    rest = objects[len(mains) :]
    progress("linking", 0.95)
    link([objects[0], *rest], place / "driver")
    if opt != LEAST_BUILD:
        link(
            [objects[1], *rest],
            place / "cocotb",
            flags=[f"-Wl,-rpath,{libraries}", f"-L{libraries}", f"-l{cocotb_parts.LIBRARY}"],
        )
    keep = {*files, _KERNELS, "driver", "cocotb"}
    for path in place.iterdir():
        if path.name not in keep:
            path.unlink()


def random_arguments(seed: int) -> list[str]:
    """Arguments of a simulation: uninitialized state is random, from a seed."""
    return ["+verilator+rand+reset+2", f"+verilator+seed+{1 + seed % (2**31 - 1)}"]


def run_driver(
    simulation: Simulation,
    folder: Path,
    *,
    cases: int = 1,
    first: int = 0,
    vcd: Path | None = None,
    vcd_from: int = 0,
    record: bool = True,
    seed: int = 0,
) -> list[Outcome]:
    """Run cases of a run folder with the C++ driver and check them.

    Parameters
    ----------
    simulation : Simulation
    folder : Path
        The run folder, as `stepgen.cosim.case.write_cases` wrote it.
    cases, first : int
        How many cases to run, and the number of the first.
    vcd : Path or None
        Where to write the waveform; needs a simulation with `trace`.
    vcd_from : int
        The cycle of the run with which it begins; 0 has what was before the run, too.
    record : bool
        Whether to record the cycle of every beat. Without, the simulation runs faster, and only
        values, memory, counters and the length of the run are checked.
    seed : int
        Seed of the values of idle wires, and of uninitialized registers and memories.

    Raises
    ------
    StepError
        Where the driver itself fails.
    """
    command = [str(simulation.driver), f"+folder={folder}", f"+first={first}", f"+cases={cases}"]
    command += random_arguments(seed)
    if vcd is not None:
        command += [f"+vcd={vcd}", f"+vcd_from={vcd_from}"]
    if not record:
        command.append("+norecord")
    done = children.run(command)
    if done.returncode not in (0, 3):
        said = (done.stderr or done.stdout).strip().splitlines()
        raise StepError(
            f"the simulation of {simulation.interface.name} failed with exit code "
            f"{done.returncode}: {said[-1] if said else 'no message'}"
        )
    messages: list[str] = []
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            result = json.loads(line) | {"messages": messages}
            (folder / str(result["case"]) / "result.json").write_text(
                json.dumps(result), encoding="utf-8"
            )
            messages = []
        else:
            messages.append(line)
    numbers = range(first, first + cases)
    if not record:
        for number in numbers:
            (folder / str(number) / "record.bin").unlink(missing_ok=True)
    return [read_outcome(folder / str(i), simulation.interface) for i in numbers]
