"""Puts bugs of the past back into the running code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.bugs import BUGS
from benchmarks.mutants import broken
from benchmarks.mutants.rules import ROOT
from stepgen.emit import modules


@contextmanager
def put_back(name: str) -> Iterator[None]:
    """The bug of `benchmarks.bugs` with this in its name is there, and then is not."""
    (bug,) = (bug for bug in BUGS if name in bug.name)
    circuits = modules.circuits
    assert broken.change(bug.path, bug.source())
    try:
        yield
    finally:
        assert broken.change(bug.path, (ROOT / bug.path).read_text())
        modules.circuits = circuits
