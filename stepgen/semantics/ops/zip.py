"""zip: pairs the elements of two streams of the same shape."""

from __future__ import annotations

from stepgen.ir.wire import DONE, VALUE
from stepgen.semantics.process import Process, Use


def run(use: Use) -> Process:
    """Structures must agree token by token; empty groups are passed on."""
    out = use.outputs[0]
    while True:
        tokens = yield from use.take_all(use.inputs)
        if tokens[0].kind == VALUE:
            out.value(tuple(token.value for token in tokens), tokens[0].stop)
            continue
        out.put(tokens[0])
        if tokens[0].kind == DONE:
            return
