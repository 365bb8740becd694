"""(n) First commands: processor and memory of small ones, with and without compiled code."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.earlier import ROOT, commit_of, unpacked
from benchmarks.report_pages import compiled
from benchmarks.table import Table

PAIRS = 3
SINCE = "stepgen/timing/stepping.py, before"
"""Until then every run waited for compiled code."""
WARM = ("--help", "show moe", "simulate gelu", "time gelu", "time moe")
COLD = ("simulate gelu", "time gelu", "time moe")
SMALL = """
import os, sys
nothing = [(os.POSIX_SPAWN_OPEN, n, os.devnull, os.O_WRONLY, 0) for n in (1, 2)]
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=nothing)
_, status, usage = os.wait4(process, 0)
print(status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""
"""A process is never smaller than the one that it comes from."""


def measure() -> Table:
    """Run each command in turns with its older self, and with empty caches once each."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        commit = commit_of(SINCE)
        sides = {
            side: {**compiled(), "PYTHONPATH": str(sources)}
            for side, sources in (("then", unpacked(commit, folder / commit)), ("now", ROOT))
        }
        subprocess.run([sys.executable, "-m", "stepgen.timing"], env=sides["now"], check=True)
        for words in WARM:
            turns = [
                {side: _used(words, env, folder) for side, env in sides.items()}
                for _ in range(PAIRS)
            ]
            best = {side: min(turn[side] for turn in turns) for side in sides}
            rows.append((f"`stepgen {words}`", "there", *_cells(best)))
        for number, words in enumerate(COLD):
            found = {}
            for side, env in sides.items():
                cache = folder / f"{side}{number}"
                cold = {**env, "NUMBA_CACHE_DIR": str(cache)}
                found[side] = _used(words, cold, folder)
                _wait(cache)
            rows.append((f"`stepgen {words}`", "none", *_cells(found)))
    return Table(
        "n6. First commands",
        f"User and system time of the processor and peak memory of one process, at {commit}, the "
        f"commit before runs began interpreted, and now. With compiled code there: the least of "
        f"{PAIRS} turns; with none, as after an installation: one run, without what a process in "
        "the background compiles from then on.",
        ("command", "compiled code", "CPU s then", "CPU s now", "MB then", "MB now"),
        rows,
    )


def _cells(found: Mapping[str, tuple[float, float]]) -> list[str]:
    return [f"{found[side][0]:.2f}" for side in found] + [f"{found[side][1]:.0f}" for side in found]


def _used(words: str, env: Mapping[str, str], folder: Path) -> tuple[float, float]:
    """Seconds of the processor, and megabytes, of a command in a folder."""
    command = [sys.executable, "-S", "-c", SMALL, sys.executable, "-m", "stepgen", *words.split()]
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, check=True)
    status, seconds, kilobytes = done.stdout.split()
    if int(status):
        raise SystemExit(f"stepgen {words} failed")
    return float(seconds), float(kilobytes) / 1000


def _wait(cache: Path) -> None:
    """Wait for a process in the background that compiles."""
    for path in cache.glob("*/lock"):
        with path.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
