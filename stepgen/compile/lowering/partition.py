"""Partition becomes a `partition` unit."""

from ...hw.units.partition.params import Partition
from ...ir.stream import Node
from ...ir.wire import wire_levels
from ..circuit import Circuit
from ..lower import Lowering


class PartitionCircuit(Circuit):
    """One unit with an output per consumer."""

    moves = True

    def lower(self, node: Node, to: Lowering) -> None:
        x = node.inputs[0]
        level = wire_levels(x.dtype) + node.attrs["rank"]
        params = Partition(
            consumers=len(node.outputs), level=level, surplus=node.name in to.on_cycles
        )
        ys = {y: to.output(node, port) for port, y in enumerate(params.outputs)}
        to.unit(node.name, params, x=to.input(node, 0), sel=to.input(node, 1), **ys)
