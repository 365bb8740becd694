"""linear_offchip_store: writes tiles to off-chip memory one after the other."""

from __future__ import annotations

from stepgen.ir.wire import DONE, VALUE
from stepgen.semantics.process import Process, Use


def run(use: Use) -> Process:
    """Structure is ignored; the tensor must be large enough."""
    x, name = use.inputs[0], use["tensor"]
    start, room = 0, use.memory.images[name].size
    while True:
        token = yield from x.take()
        if token.kind == DONE:
            return
        if token.kind == VALUE:
            if start + token.value.size > room:
                use.fail(
                    f"{x.name} has more than the {room} elements that tensor {name} has room for"
                )
            use.memory.write(use.node, start, token.value)
            start += token.value.size
