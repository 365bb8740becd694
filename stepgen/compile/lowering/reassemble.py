"""Reassemble becomes a crossbar."""

from ...ir.stream import Node
from ...ir.wire import wire_levels
from ..lower import Lowering


def lower(node: Node, to: Lowering) -> None:
    """One crossbar with an input per producer."""
    level = wire_levels(node.inputs[0].dtype) + node.attrs["rank"]
    params = {"level": level, "order": node.attrs["order"]}
    inputs = [to.input(node, index) for index in range(len(node.inputs))]
    to.unit(node.name, "reassemble", params, inputs, [to.output(node)])
