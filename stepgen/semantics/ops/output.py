"""output: consumes a stream that leaves the program."""

from __future__ import annotations

from stepgen.ir.wire import DONE
from stepgen.semantics.process import Process, Use


def run(use: Use) -> Process:
    """Take all tokens; the stream's writer has the record."""
    while (yield from use.inputs[0].take()).kind != DONE:
        pass
