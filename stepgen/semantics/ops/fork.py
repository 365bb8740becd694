"""fork: copies a stream for several consumers."""

from __future__ import annotations

from stepgen.ir.wire import DONE
from stepgen.semantics.process import Process, Use


def run(use: Use) -> Process:
    """Every token goes to all outputs."""
    x = use.inputs[0]
    while True:
        token = yield from x.take()
        for out in use.outputs:
            out.put(token)
        if token.kind == DONE:
            return
