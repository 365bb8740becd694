"""zip: two streams of one shape side by side."""

from __future__ import annotations

from stepgen.ir.wire import DONE, VALUE
from stepgen.semantics.process import Process, Use


def run(use: Use) -> Process:
    """Structures must agree token by token; empty groups pass."""
    out = use.outputs[0]
    while True:
        tokens = yield from use.take_all(use.inputs)
        if tokens[0].kind == VALUE:
            out.value(tuple(token.value for token in tokens), tokens[0].stop)
            continue
        out.put(tokens[0])
        if tokens[0].kind == DONE:
            return
