"""Depths of FIFOs by start times beside the derived ones, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType

from stepgen.cosim.scheduled import Scheduled
from stepgen.report.console import table
from stepgen.timing.deadlock import Deadlock


def tables(found: Scheduled) -> Iterator[RenderableType]:
    """FIFOs whose depths differ, and how the run ends with each of both depths."""
    stuck = isinstance(found.scheduled, Deadlock)
    columns = ("FIFO", "from", "to", "beats", "derived", "by start times")
    rows = [
        (f.name, f.source, f.target, f.beats, f.derived, f.scheduled, *([f.freed] if stuck else []))
        for f in found.fifos
        if f.derived != f.scheduled or f.freed is not None
    ]
    title = "Depths of FIFOs, where both differ"
    yield table(title, *columns, *(["frees the run"] if stuck else []), rows=rows, left=3)
    derived, scheduled = (f"{bits:,} bits of FIFOs" for bits in found.bits)
    yield f"as derived: {derived}, {found.cycles:,} cycles"
    if isinstance(found.scheduled, Deadlock):
        yield f"by start times alone: {scheduled}, and {found.scheduled}"
        yield f"with what frees the run: {found.confirmed:,} cycles"
    else:
        yield f"by start times: {scheduled}, {found.scheduled:,} cycles"


def document(found: Scheduled) -> dict[str, Any]:
    """The same as JSON, of all FIFOs."""
    stuck = isinstance(found.scheduled, Deadlock)
    return {
        "fifos": [asdict(fifo) for fifo in found.fifos],
        "derived": {"bits": found.bits[0], "cycles": found.cycles},
        "start_times": {
            "bits": found.bits[1],
            "cycles": None if stuck else found.scheduled,
            "deadlock": str(found.scheduled) if stuck else None,
            "cycles_when_freed": found.confirmed,
        },
    }
