"""Partition becomes a crossbar."""

from ...ir.stream import Node
from ...ir.wire import wire_levels
from ..lower import Lowering


def lower(node: Node, to: Lowering) -> None:
    """One crossbar with an output per consumer."""
    x = node.inputs[0]
    level = wire_levels(x.dtype) + node.attrs["rank"]
    params = {"level": level, "surplus": node.name in to.on_cycles}
    outputs = [to.output(node, port) for port in range(len(node.outputs))]
    to.unit(node.name, "partition", params, [to.input(node, 0), to.input(node, 1)], outputs)
