"""random_offchip_store: writes one tile per address, and acknowledges the write."""

from __future__ import annotations

import numpy as np

from stepgen.ir.wire import DONE, VALUE
from stepgen.semantics.numbers import DTYPES
from stepgen.semantics.process import Process, Use


def run(use: Use) -> Process:
    """An address is the number of a tile; acknowledgements have the structure of the addresses."""
    addresses, data = use.inputs
    out, tile = use.outputs[0], tuple(use["tile"])
    count = use.memory.tiles(use["tensor"], tile)
    while True:
        address, item = yield from use.take_all((addresses, data))
        if address.kind == VALUE:
            number = int(address.value[0, 0])
            if not 0 <= number < count:
                use.fail(
                    f"{addresses.name} names tile {number} of tensor {use['tensor']}, "
                    f"which has {count} tiles of {tile[0]}x{tile[1]}"
                )
            if item.value.shape != tile:
                use.fail(
                    f"{data.name} gives a tile of {item.value.shape[0]}x{item.value.shape[1]} "
                    f"where tiles of {tile[0]}x{tile[1]} are written"
                )
            use.memory.write(use.node, number * tile[0] * tile[1], item.value)
            out.value(np.ones((1, 1), DTYPES["bool"]), address.stop)
            continue
        out.put(address)
        if address.kind == DONE:
            return
