"""``python -m benchmarks.mutants``: draws mutants and tries those that have not been tried."""

from __future__ import annotations

import argparse

from benchmarks.mutants import COUNT, SEED, known, tables, tried
from benchmarks.mutants.session import FUZZER, SUITE
from benchmarks.table import write


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED, metavar="N")
    parser.add_argument("--count", type=int, default=COUNT, metavar="N", help="mutants to draw")
    parser.add_argument("-j", "--jobs", type=int, default=1, metavar="N", help="at once")
    parser.add_argument("--file", default="", metavar="TEXT", help="of files with this in the path")
    parser.add_argument("--by", choices=(SUITE, FUZZER), help="one of them alone looks")
    parser.add_argument("--write", action="store_true", help="results of those tried so far alone")
    asked = parser.parse_args()
    if asked.write:
        write(tables(known(asked.seed, asked.count)))
        return
    for one in tried(asked.seed, asked.count, asked.jobs, file=asked.file, by=asked.by):
        if not one.by:
            print(f"survived: {one.id}\n  {one.key}")


if __name__ == "__main__":
    main()
