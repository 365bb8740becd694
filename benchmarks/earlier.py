"""(n) Commands beside themselves at an earlier commit, by turns on one machine."""

from __future__ import annotations

import subprocess
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path
from statistics import median

from benchmarks.report_pages import compiled, used
from benchmarks.table import Table, git

ROOT = Path(__file__).parents[1]
PAIRS = 3
PAGES = "stepgen/cli/report.py"
"""What the first commit with pages of runs has added."""

CASES = (
    *(
        (words, f"{PAGES}, before")
        for words in ("--version", "show moe", "metrics moe", "run moe", "time moe", "demo")
    ),
    ("show moe --svg moe.svg", "stepgen/draw/svg.py"),
    ("report moe -o moe.html", PAGES),
    ("compare moe moe --against-set tiling=static", "stepgen/cli/compare.py"),
)
"""Commands, and the commit that each is compared with: the one that added a file, or the one
before."""


def measure() -> Table:
    """Run each command in turns with its older self; the first turn fills the caches."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for words, since in CASES:
            commit = commit_of(since)
            old = unpacked(commit, Path(folder) / commit)
            sides = [{**compiled(), "PYTHONPATH": str(sources)} for sources in (old, ROOT)]
            place = Path(folder) / "here"
            place.mkdir(exist_ok=True)
            turns = [
                [used(*words.split(), env=side, cwd=place)[1] for side in sides]
                for _ in range(PAIRS + 1)
            ][1:]
            then, now = (min(times) for times in zip(*turns, strict=True))
            ratio = median(before / after for before, after in turns)
            rows.append((f"`stepgen {words}`", commit, f"{then:.2f}", f"{now:.2f}", f"{ratio:.2f}"))
    return Table(
        "n5. Commands beside themselves at earlier commits",
        f"The same command at two commits, in turns, {PAIRS} times; user and system time of the "
        "processor, the least of each, and the median of the ratios of a turn. Earlier is the "
        "commit before there were pages of runs; for what is newer, the first that had it.",
        ("command", "earlier", "CPU s then", "CPU s now", "then / now"),
        rows,
    )


def commit_of(since: str) -> str:
    """A short hash."""
    file, _, before = since.partition(", ")
    added = git("log", "--diff-filter=A", "--format=%h", "-1", "--", file)
    return git("rev-parse", "--short", f"{added}^") if before else added


def unpacked(commit: str, folder: Path) -> Path:
    """The sources of a commit."""
    if not folder.exists():
        packed = subprocess.run(
            ["git", "archive", commit], cwd=ROOT, capture_output=True, check=True
        ).stdout
        with tarfile.open(fileobj=BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
    return folder
