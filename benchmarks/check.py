"""Measure a sample of the tables again, and name the numbers that have moved.

Seconds depend on the machine and are left out; counts, cycles and ratios of one run are compared.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator, Sequence
from time import perf_counter

from benchmarks.table import RESULTS, Table

QUICK = ("bound", "workloads", "substitution", "sums", "starts", "speed", "elaboration")
"""Benchmarks that take seconds, or a minute or two."""

MOVED = 0.1
"""Share by which a number may differ."""

OF_THE_MACHINE = re.compile(r"\b(s|kc/s|MB|seconds)\b")
"""Columns of numbers that another machine, or a busy one, changes."""

_NUMBER = re.compile(r"-?\d[\d,]*(\.\d+)?")


def main(names: Sequence[str] = QUICK) -> int:
    """Measure benchmarks again; 1 if a number has moved."""
    found = []
    for name in names or QUICK:
        begun = perf_counter()
        made = importlib.import_module(f"benchmarks.{name}").measure()
        for table in [made] if isinstance(made, Table) else made:
            moves = [*moved(table, kept(table.title))]
            found += moves
            print(f"{table.title}: {'; '.join(moves) or 'as before'}", flush=True)
        print(f"  {name} took {perf_counter() - begun:.0f} s", flush=True)
    return int(bool(found))


def kept(title: str, text: str | None = None) -> list[list[str]]:
    """The cells of a table of the results, row by row; empty if there is none."""
    text = RESULTS.read_text() if text is None else text
    rest = text.partition(f"## {title}\n")[2]
    lines = [line for line in rest.split("\n## ")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def moved(table: Table, before: Sequence[Sequence[str]]) -> Iterator[str]:
    """What differs from the results, as ``cell of the first column, column: then and now``."""
    if len(table.rows) != len(before):
        yield f"{len(table.rows)} rows, {len(before)} in the results"
        return
    for row, old in zip(table.rows, before, strict=True):
        for head, now, then in zip(table.head, map(str, row), old, strict=True):
            if OF_THE_MACHINE.search(head) or now == then:
                continue
            numbers = [_NUMBER.fullmatch(cell) for cell in (then, now)]
            if all(numbers):
                first, second = (float(cell.replace(",", "")) for cell in (then, now))
                if abs(second - first) <= MOVED * max(abs(first), abs(second)):
                    continue
            yield f"{row[0]}, {head}: {then} and {now}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
