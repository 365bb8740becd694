"""Runs the benchmarks, all or those named, and writes their results."""

from __future__ import annotations

import argparse
import importlib
import os
import sys

from benchmarks.table import Table, write
from stepgen.study.traces import VARIABLE

NAMES = (
    "elaboration",
    "speed",
    "bound",
    "workloads",
    "metadata",
    "resources",
    "other_circuits",
    "arithmetic",
    "units",
    "language_units",
    "bitstreams",
    "mirror",
    "points",
    "growth",
    "substitution",
    "figures",
    "mutants",
    "bugs",
    "fuzzing",
    "sums",
    "language_models",
    "quantized_models",
    "talking",
    "talking_loss",
    "talking_alone",
    "talking_board",
    "lanes",
    "report_pages",
    "looking",
    "earlier",
    "starts",
)


def main(arguments: list[str]) -> None:
    """Measure and write; ``--data DIR`` names a folder of traces for those that take any."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--data", metavar="DIR", help="folder of traces; without it, drawn ones")
    asked = parser.parse_args(arguments)
    if asked.data:
        os.environ[VARIABLE] = asked.data
    for name in asked.names or NAMES:
        if name not in NAMES:
            raise SystemExit(f"there is no benchmark {name}, those are {', '.join(NAMES)}")
        print(f"measuring {name}", flush=True)
        made = importlib.import_module(f"benchmarks.{name}").measure()
        tables = [made] if isinstance(made, Table) else made
        print(*tables, sep="\n", flush=True)
        write(tables)


if __name__ == "__main__":
    main(sys.argv[1:])
