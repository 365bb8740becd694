"""random_offchip_load: reads one tile per address."""

from __future__ import annotations

from stepgen.ir.wire import DONE, VALUE
from stepgen.semantics.process import Process, Use


def run(use: Use) -> Process:
    """An address is the number of a tile; the structure stays."""
    addresses, out = use.inputs[0], use.outputs[0]
    tile = tuple(use["tile"])
    count = use.memory.tiles(use["tensor"], tile)
    while True:
        token = yield from addresses.take()
        if token.kind == VALUE:
            number = int(token.value[0, 0])
            if not 0 <= number < count:
                use.fail(
                    f"{addresses.name} asks for tile {number} of tensor {use['tensor']}, "
                    f"which has {count} tiles of {tile[0]}x{tile[1]}"
                )
            out.value(use.memory.read(use.node, tile, number), token.stop)
            continue
        out.put(token)
        if token.kind == DONE:
            return
