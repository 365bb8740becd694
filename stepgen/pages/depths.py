"""FIFOs of attention over caches of different size, for the page about depths."""

from __future__ import annotations

from stepgen.compile.lower import lower
from stepgen.pages.docstrings import table
from stepgen.program import program

CACHES = ((2, 31), (8, 31), (8, 255), (64, 255))
"""Requests, and rows in the cache of each."""


def caches() -> str:
    """The deepest FIFO, and the bits of all, by size of the caches."""
    rows = []
    for requests, filled in CACHES:
        drawn = {"batch": str(requests), "mean": str(filled), "stdev": "0", "data": "false"}
        design = lower(program.load("attention", drawn).graph)
        fifos = [c for c in design.channels if c.rank is not None]
        bits = sum(c.memory_bits_of(c.depth) for c in fifos)
        row = requests, filled + 1, max(c.depth for c in fifos), bits
        rows.append(tuple(f"{number:,}" for number in row))
    return "\n".join(
        table(("requests", "cache rows of each", "deepest FIFO, in beats", "bits of FIFOs"), rows)
    )
