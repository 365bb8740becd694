"""Runs the benchmarks, all or those named, and writes their results."""

from __future__ import annotations

import importlib
import sys

from .table import write

NAMES = ("elaboration", "speed", "bound", "resources")


def main(names: list[str]) -> None:
    """Measure and write."""
    for name in names or NAMES:
        if name not in NAMES:
            raise SystemExit(f"there is no benchmark {name}, those are {', '.join(NAMES)}")
        print(f"measuring {name}", flush=True)
        table = importlib.import_module(f"benchmarks.{name}").measure()
        print(table, flush=True)
        write([table])


if __name__ == "__main__":
    main(sys.argv[1:])
