"""unzip: takes tuples apart."""

from __future__ import annotations

from stepgen.ir.wire import DONE, VALUE
from stepgen.semantics.process import Process, Use


def run(use: Use) -> Process:
    """Each item goes to an output of its own, empty groups and the end to all."""
    x = use.inputs[0]
    while True:
        token = yield from x.take()
        for n, out in enumerate(use.outputs):
            if token.kind == VALUE:
                out.value(token.value[n], token.stop)
            else:
                out.put(token)
        if token.kind == DONE:
            return
