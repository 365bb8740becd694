"""Builds a simulation of a design with Verilator, and runs it without Python.

Verilator's binary is called directly and its C++ files are compiled here: neither make nor perl is
needed, the files that are the same for every design are compiled once per host, and progress
can be shown. A simulation is cached under a hash of everything it was built from, so an unchanged
design is never built twice.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..emit.interface import Interface
from ..emit.kernels import compiled
from ..emit.registers import c_header
from ..hw.design.table import Channel
from ..ir.errors import StepError
from ..ir.wire import DONE, KIND_MASK
from ..tools import children
from ..tools.cache import cache_folder, digest, prune
from ..tools.external import compiler, verilator
from ..tools.shipped import shipped
from ..tools.waiting import Progress, quiet
from . import cocotb_parts
from .forms import formed
from .objects import Source, compile_all, execute, link, precompiled
from .render import render
from .scoreboard import Outcome, read_outcome
from .waveform import without_clutter

FAST_BUILD, FAST_RUN, LEAST_BUILD = "fast-build", "fast-run", "least-build"

_UNOPTIMIZED = ("-O0",)
_OPTIMIZE = {
    # Looking for repeated loads and dead stores costs more time of compiling than it saves in runs
    # of tests; -O2 compiles even longer and runs no faster.
    FAST_BUILD: ("-O1", "-fno-tree-fre", "-fno-tree-dse", "-fno-tree-sink", "-fno-dse"),
    FAST_RUN: ("-O1",),
    LEAST_BUILD: _UNOPTIMIZED,
}
_FIXED_OPTIMIZE = "-O2"
_WIRE = (f"-DSTEPGEN_DONE={DONE}", f"-DSTEPGEN_KIND_MASK={KIND_MASK}")
_COMMON_FLAGS = ("-std=gnu++17", "-w", "-pipe", "-fno-semantic-interposition")
SUPPORT = ("axi_memory.sv", "axi_checks.sv", "recorder.sv", "stalls.svh")
_PROGRAM_FILES = ("driver.cpp", "recorder.cpp", "model.h", "cocotb/Vtop.h")
_KERNELS = "kernels"
"""Folder of the files of Verilog kernels, whose names are the users'."""
KEEP_BUILDS = 100
_JOINED_BYTES = 200_000


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
    if opt not in _OPTIMIZE:
        raise StepError(f"simulation: opt must be one of {', '.join(_OPTIMIZE)}, not {opt!r}")
    text = verilog.read_text() if isinstance(verilog, Path) else verilog
    sim = shipped("sim/verilator")
    tool, cxx = verilator(), compiler()
    if not cxx.found:
        raise StepError(f"{cxx.name} ({cxx.purpose}) was not found: {cxx.remedy}")
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
        tool.version,
        str(cxx.version),
        str(libraries),
        importlib.metadata.version("cocotb"),
        *_OPTIMIZE[opt],
        _FIXED_OPTIMIZE,
        *_COMMON_FLAGS,
        *_WIRE,
        *flags,
        *(part for file in files.items() for part in file),
        *support.values(),
    )
    folder = room_of(opt) / f"{interface.name}-{made_from}"
    if (folder / "simulation.json").exists():
        os.utime(folder)
        progress("simulation is up to date", 1.0)
        return Simulation(folder, interface, trace, 0.0)

    folder.parent.mkdir(parents=True, exist_ok=True)
    prune(folder.parent, KEEP_BUILDS)
    place = Path(tempfile.mkdtemp(prefix=".making-", dir=folder.parent))
    try:
        seconds = _build_in(place, files, flags, opt, trace, progress)
        (place / "simulation.json").write_text(
            json.dumps({"opt": opt, "trace": trace, "seconds": seconds, "key": made_from})
        )
        try:
            place.rename(folder)
        except OSError:  # another process has built the same simulation meanwhile
            if not (folder / "simulation.json").exists():
                raise
    finally:
        shutil.rmtree(place, ignore_errors=True)
    progress("simulation is built", 1.0)
    return Simulation(folder, interface, trace, seconds)


def room_of(opt: str) -> Path:
    """Where builds are kept: campaigns, which have many, leave those of users alone."""
    return cache_folder() / ("passing" if opt == LEAST_BUILD else "builds")


def _verilator_flags(*, trace: bool, least: bool) -> list[str]:
    flags = ["--cc", "--prefix", "Vmodel", "--top-module", "stepgen_bench", "--make", "json"]
    flags += ["--no-timing", "--x-assign", "unique", "--x-initial", "unique", "-O3"]
    flags += ["-Wno-fatal", "-Wno-lint", "-Wno-style"]
    # Wide operations word by word make more C++, which takes longer to compile than to run.
    return flags + (["-fno-expand"] if least else ["--vpi"]) + (["--trace-vcd"] if trace else [])


def _build_in(
    place: Path,
    files: dict[str, str],
    verilator_flags: Sequence[str],
    opt: str,
    trace: bool,
    progress: Progress,
) -> float:
    start = time.monotonic()
    sim = shipped("sim/verilator")
    tool = verilator()
    libraries = cocotb_parts.libraries()
    (place / _KERNELS).mkdir()
    for name, content in files.items():
        (place / name).write_text(content)
    progress("translating Verilog to C++", 0.0)
    execute(
        [
            tool.binary,
            *verilator_flags,
            *("--Mdir", place, f"-I{sim}", f"-I{_KERNELS}", "public.vlt"),
            *(sim / name for name in SUPPORT if name.endswith(".sv")),
            *("design.v", "bench.sv"),
            *(name for name in compiled(files) if name.startswith(_KERNELS)),
        ],
        cwd=place,
        what="Verilator",
    )
    made = _made((place / "Vmodel.json").read_bytes())

    defines = [f"-DVM_{what}=0" for what in ("COVERAGE", "SC", "TIMING", "TRACE_FST", "TRACE_SAIF")]
    defines += [f"-DVM_TRACE={int(trace)}", f"-DVM_TRACE_VCD={int(trace)}", "-DVERILATOR=1"]
    includes = [f"-I{tool.include}", f"-I{tool.include / 'vltstd'}"]
    flags = [*_COMMON_FLAGS, *defines, *includes]
    fixed_by = digest(tool.version, (sim / "model.h").read_bytes(), files["registers.h"])

    def fixed(path: Path, *more: str) -> Source:
        return Source(path, (_FIXED_OPTIMIZE, *more), fixed_by)

    library = [fixed(Path(p)) for p in made["global"]] + [fixed(sim / "recorder.cpp")]
    mains = [fixed(sim / "driver.cpp", f"-I{sim}", "-I.", *_WIRE)]
    if opt != LEAST_BUILD:
        mains.append(fixed(cocotb_parts.main_program(), f"-I{sim / 'cocotb'}"))
    fast = [Path(p) for key in ("classes_fast", "support_fast") for p in made[key]]
    slow = [Path(p) for key in ("classes_slow", "support_slow") for p in made[key]]
    slow.append(place / "glue.cpp")
    if opt == LEAST_BUILD:
        fast, slow = [], [*fast, *slow]
    header = precompiled(
        tool.include / "verilated.h", flags=[*flags, *_UNOPTIMIZED], fixed_by=tool.version
    )
    unoptimized = (*_UNOPTIMIZED, "-include", str(header), "-I.", f"-I{sim}")
    model = [
        *(Source(p, (*_OPTIMIZE[opt], "-I.")) for p in _joined(fast, place, "fast")),
        *(Source(p, unoptimized) for p in _joined(slow, place, "slow")),
    ]
    objects = compile_all(
        [*mains, *library, *model], place, flags=flags, progress=progress, span=(0.1, 0.95)
    )
    driver_object, rest = objects[0], objects[len(mains) :]
    progress("linking", 0.95)
    link([driver_object, *rest], place / "driver")
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
    return time.monotonic() - start


def _made(text: bytes) -> dict[str, list[str]]:
    """The files that Verilator has written, by what they are for.

    It writes bytes that are no ASCII as octal escapes, which JSON does not know.
    """
    plain = re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m[1], 8)]), text)
    made: dict[str, list[str]] = json.loads(plain)["sources"]
    return made


def _joined(files: Sequence[Path], place: Path, kind: str) -> list[Path]:
    """As many files as processors, of about equal size, that include all: headers cost time."""
    sizes = {path: path.stat().st_size for path in files}
    if not files:
        return []
    count = min(os.cpu_count() or 1, 1 + sum(sizes.values()) // _JOINED_BYTES)
    groups: list[list[Path]] = [[] for _ in range(count)]
    loads = [0] * count
    for path in sorted(files, key=lambda p: -sizes[p]):
        lightest = loads.index(min(loads))
        groups[lightest].append(path)
        loads[lightest] += sizes[path]
    joined = []
    for number, group in enumerate(groups):
        target = place / f"{kind}_{number}.cpp"
        target.write_text("".join(f'#include "{path.name}"\n' for path in group))
        joined.append(target)
    return joined


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
        command.append(f"+vcd={vcd}")
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
            (folder / str(result["case"]) / "result.json").write_text(json.dumps(result))
            messages = []
        else:
            messages.append(line)
    numbers = range(first, first + cases)
    if not record:
        for number in numbers:
            (folder / str(number) / "record.bin").unlink(missing_ok=True)
    return [read_outcome(folder / str(i), simulation.interface) for i in numbers]
