"""output: the tokens that leave the program."""

from __future__ import annotations

from stepgen.ir.wire import DONE
from stepgen.semantics.process import Process, Use


def run(use: Use) -> Process:
    """Take everything; the stream that is read keeps the record."""
    while (yield from use.inputs[0].take()).kind != DONE:
        pass
