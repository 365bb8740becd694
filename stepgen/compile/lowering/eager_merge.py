"""EagerMerge becomes an `eager_merge` unit, with a `store_forward` before inputs of long chunks."""

import math
from collections.abc import Sequence

from ...hw.units.eager_merge.params import EagerMerge
from ...hw.units.store_forward.params import StoreForward
from ...ir.dtypes import Tile
from ...ir.stream import Node
from ...ir.wire import wire_levels
from ..circuit import Circuit
from ..lower import Lowering


class EagerMergeCircuit(Circuit):
    """One unit with an input per producer; a chunk arrives when all of it is there.

    A chunk of which only the beginning is there would keep the others waiting, perhaps for ever:
    its end may wait for what they are part of.
    """

    covers = "chunks of bounded dims"
    selects = True

    def lower(self, node: Node, to: Lowering) -> None:
        level = wire_levels(node.inputs[0].dtype) + node.attrs["rank"]
        params = EagerMerge(producers=len(node.inputs), level=level)
        inputs = {}
        for index, (port, x) in enumerate(zip(params.inputs, node.inputs, strict=True)):
            rows = [x.dtype.rows] if isinstance(x.dtype, Tile) and wire_levels(x.dtype) else []
            to.bound(node, f"the number of tiles of a chunk of {x.name}", [*x.shape[1:], *rows])
            extents = to.extents(node, x)
            largest = math.prod(max(1, int(e.bound)) for e in extents[:level])
            inputs[port] = to.input(node, index)
            if largest > 1:
                stored = to.link(node, f"{port}_stored", x, extents)
                gather = StoreForward(level=level, largest=largest)
                to.unit(f"{node.name}_{port}", gather, x=inputs[port], y=stored)
                inputs[port] = stored
        y, names = (to.output(node, port) for port in range(2))
        to.unit(node.name, params, **inputs, y=y, names=names)

    def shares(self, node: Node, outputs: Sequence[int]) -> int:
        """As many as of what it merges."""
        return outputs[0]
