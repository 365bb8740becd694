"""Verilog to a program: Verilator's C++, compiled beside what drives it, kept in the cache."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

from stepgen.cosim.objects import Source, compile_all, execute, precompiled
from stepgen.ir.errors import StepError
from stepgen.tools.cache import cache_folder, digest
from stepgen.tools.external import compiler, verilator
from stepgen.tools.shipped import shipped
from stepgen.tools.waiting import Progress

FAST_BUILD, FAST_RUN, LEAST_BUILD = "fast-build", "fast-run", "least-build"

UNOPTIMIZED = ("-O0",)
OPTIMIZATION = {
    # Looking for repeated loads and dead stores costs more time of compiling than it saves in runs
    # of tests; -O2 compiles even longer and runs no faster.
    FAST_BUILD: ("-O1", "-fno-tree-fre", "-fno-tree-dse", "-fno-tree-sink", "-fno-dse"),
    FAST_RUN: ("-O1",),
    LEAST_BUILD: UNOPTIMIZED,
}
_FIXED_OPTIMIZE = "-O2"
_COMMON_FLAGS = ("-std=gnu++17", "-w", "-pipe", "-fno-semantic-interposition")
KEEP_BUILDS = 100
_JOINED_BYTES = 200_000


def room_of(opt: str) -> Path:
    """Where builds are kept: campaigns, which have many, leave those of users alone."""
    return cache_folder() / ("passing" if opt == LEAST_BUILD else "builds")


def versions(opt: str) -> list[str]:
    """Of tools and flags that every build depends on.

    Raises
    ------
    StepError
        Where there is no C++ compiler, or `opt` is unknown.
    """
    if opt not in OPTIMIZATION:
        raise StepError(f"simulation: opt must be one of {', '.join(OPTIMIZATION)}, not {opt!r}")
    cxx = compiler()
    if not cxx.found:
        raise StepError(f"{cxx.name} ({cxx.purpose}) was not found: {cxx.remedy}")
    flags = [*OPTIMIZATION[opt], _FIXED_OPTIMIZE, *_COMMON_FLAGS]
    return [verilator().version, str(cxx.version), *flags]


def translate(
    place: Path, top: str, flags: Sequence[str], sources: Sequence[str | Path]
) -> dict[str, list[str]]:
    """Make C++ of Verilog files; returns its files by what they are for.

    Parameters
    ----------
    place : Path
        Where it goes, and relative paths begin.
    top : str
        Name of the top module.
    flags : sequence of str
        Beside those of all builds.
    sources : sequence of str or Path
    """
    common = ["--cc", "--prefix", "Vmodel", "--top-module", top, "--make", "json"]
    common += ["--no-timing", "--x-assign", "unique", "--x-initial", "unique", "-O3"]
    common += ["-Wno-fatal", "-Wno-lint", "-Wno-style"]
    execute(
        [verilator().binary, *common, *flags, "--Mdir", place, *sources],
        cwd=place,
        what="Verilator",
    )
    return _made((place / "Vmodel.json").read_bytes())


def compile_model(
    place: Path,
    made: dict[str, list[str]],
    mains: Sequence[tuple[Path, Sequence[str]]],
    *,
    opt: str,
    trace: bool = False,
    fixed_by: str,
    progress: Progress,
) -> list[Path]:
    """Compile what `translate` has made, and what does not depend on the design.

    Parameters
    ----------
    place : Path
        With ``glue.cpp``.
    made : dict
        From `translate`.
    mains : sequence of (Path, sequence of str)
        Files that are the same for every design, with their flags.
    opt, trace, progress
        As for `stepgen.cosim.verilator.build`.
    fixed_by : str
        What those files depend on beside versions and flags.

    Returns
    -------
    list of Path
        Objects: those of `mains`, then all others.
    """
    tool, sim = verilator(), shipped("sim/verilator")
    nothing = ("COVERAGE", "SC", "TIMING", "TRACE_FST", "TRACE_SAIF")
    defines = [*(f"-DVM_{what}=0" for what in nothing), "-DVERILATOR=1"]
    # Only main programs look at it: all else is compiled once, for simulations of both kinds.
    traced = (f"-DVM_TRACE={int(trace)}", f"-DVM_TRACE_VCD={int(trace)}")
    includes = [f"-I{tool.include}", f"-I{tool.include / 'vltstd'}"]
    flags = [*_COMMON_FLAGS, *defines, *includes]
    fixed_by = digest(tool.version, (sim / "model.h").read_bytes(), fixed_by)
    programs = [(path, (*traced, *more)) for path, more in mains]
    library = [(Path(p), ()) for p in made["global"]]
    fixed = [
        Source(path, (_FIXED_OPTIMIZE, *more), fixed_by) for path, more in (*programs, *library)
    ]
    fast = [Path(p) for key in ("classes_fast", "support_fast") for p in made.get(key, ())]
    slow = [Path(p) for key in ("classes_slow", "support_slow") for p in made.get(key, ())]
    slow.append(place / "glue.cpp")
    if OPTIMIZATION[opt] == UNOPTIMIZED:
        fast, slow = [], [*fast, *slow]
    header = precompiled(
        tool.include / "verilated.h", flags=[*flags, *UNOPTIMIZED], fixed_by=tool.version
    )
    unoptimized = (*UNOPTIMIZED, "-include", str(header), "-I.", f"-I{sim}")
    model = [
        *(Source(p, (*OPTIMIZATION[opt], "-I.")) for p in _joined(fast, place, "fast")),
        *(Source(p, unoptimized) for p in _joined(slow, place, "slow")),
    ]
    return compile_all([*fixed, *model], place, flags=flags, progress=progress, span=(0.1, 0.95))


def _made(text: bytes) -> dict[str, list[str]]:
    """The files that Verilator has written, by what they are for.

    It writes bytes that are not ASCII as octal escapes, which JSON does not know.
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
        target.write_text("".join(f'#include "{path.name}"\n' for path in group), encoding="utf-8")
        joined.append(target)
    return joined
