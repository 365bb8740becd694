"""From Verilog to a bitstream: synthesis, place and route, packer, in one folder."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from stepgen.ir.errors import StepError
from stepgen.synth.netlist import Netlist
from stepgen.synth.toolchain import Target, Toolchain
from stepgen.tools import children, external
from stepgen.tools.waiting import Progress, quiet

STAGES = (
    (r"Info: Packing ", "packing cells", 0.3),
    (r"Info: Running (?:main )?analytical placer|Info: Creating initial", "placing", 0.4),
    (r"Info: Running simulated annealing|Info: wirelength solved", "placing", 0.55),
    (r"Info: Routing globals|Info: Running router", "routing", 0.7),
)
"""What place and route prints where a stage begins, with the share of the work before it."""

_ROUTED = re.compile(r"^Info:\s+\d+ \|.*\|\s+(\d+) *\|")
"""A line of the router's table, with the arcs that remain."""


def synthesize(
    folder: Path,
    top: str,
    sources: Iterable[str],
    tools: Toolchain,
    *,
    progress: Progress = quiet,
) -> Netlist:
    """Synthesize Verilog files in a folder.

    Parameters
    ----------
    folder : Path
    top : str
        Name of the top module.
    sources : iterable of str
        Names of the files.
    tools : Toolchain
    progress : Progress

    Raises
    ------
    StepError
        Where a tool is missing or fails.
    """
    progress("synthesizing", 0.05)
    read = "".join(f"read_verilog -sv {name}; " for name in sources)
    log = f"{top}.yosys.log"
    # What yosys prints behind its first call of ABC is lost; its log is not.
    run(tools.tools[0], ["-q", "-l", log, "-p", read + tools.synthesis(top)], folder, log)
    return Netlist.read(folder / f"{top}.json", top, tools.cells)


def place(
    folder: Path,
    top: str,
    tools: Toolchain,
    target: Target,
    used: Mapping[str, int],
    *,
    seed: int,
    progress: Progress = quiet,
) -> None:
    """Place and route the netlist of `synthesize`; the report is ``<top>.report.json``.

    Parameters
    ----------
    folder, top, tools
        As for `synthesize`.
    target : Target
    used : mapping of str to int
        What the netlist takes, by resource.
    seed : int
        Of the placement.
    progress : Progress

    Raises
    ------
    StepError
        Where the tool is missing or fails.
    """
    (folder / f"{top}{tools.constraints}").write_text(
        tools.constraints_text(target), encoding="utf-8"
    )
    options, log = tools.place(top, target, seed, used), folder / f"{top}.nextpnr.log"
    tool = external.find(tools.tools[1])
    with (
        children.started(
            [str(tool.path), *options],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process,
        log.open("w", encoding="utf-8") as out,
    ):
        assert process.stdout
        stage, share = "placing", 0.3
        progress(stage, share)
        for line in process.stdout:
            out.write(line)
            for pattern, name, begun in STAGES:
                if re.match(pattern, line) and begun > share:
                    stage, share = name, begun
                    progress(stage, share)
            if found := _ROUTED.match(line):
                progress(f"routing ({int(found[1]):,} arcs remain)", share)
    _check(tool.name, process.returncode, log)


def pack(folder: Path, top: str, tools: Toolchain, target: Target) -> str:
    """Make the bitstream of what `place` has made; returns the name of the file."""
    run(tools.tools[2], tools.pack(top, target), folder, f"{top}.pack.log")
    return f"{top}{tools.bitstream}"


def run(tool: str, options: Sequence[str], folder: Path, log: str) -> None:
    """Run a tool in a folder.

    Parameters
    ----------
    tool : str
        Of `stepgen.tools.external`.
    options : sequence of str
    folder : Path
    log : str
        File for what it prints; one that writes its own log prints nothing to it.

    Raises
    ------
    StepError
        Where it is missing or fails; the message then holds the last line that it printed.
    """
    found = external.find(tool)
    printed = folder / f"{log}.part"
    with printed.open("w", encoding="utf-8") as out:
        done = children.run([str(found.path), *options], cwd=folder, stdout=out, stderr=out)
    if not (folder / log).exists() or printed.stat().st_size:
        with (folder / log).open("a", encoding="utf-8") as kept:
            kept.write(printed.read_text(encoding="utf-8"))
    printed.unlink()
    _check(tool, done.returncode, folder / log)


def _check(tool: str, code: int, log: Path) -> None:
    if code < 0:
        raise StepError(f"{tool} was killed by signal {-code}")
    if code:
        lines = [line for line in log.read_text(encoding="utf-8").splitlines() if line.strip()]
        errors = [line for line in lines if "ERROR" in line] or lines or ["no message"]
        raise StepError(f"{tool} failed: {errors[-1].strip()}")
