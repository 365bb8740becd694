"""Reassemble becomes a `reassemble` unit."""

from collections.abc import Sequence

from ...hw.units.reassemble.params import Reassemble
from ...ir.stream import Node
from ...ir.wire import wire_levels
from ..circuit import Circuit
from ..lower import Lowering


class ReassembleCircuit(Circuit):
    """One unit with an input per producer."""

    covers = 'order "index" and "arrival"'
    moves = True

    def lower(self, node: Node, to: Lowering) -> None:
        level = wire_levels(node.inputs[0].dtype) + node.attrs["rank"]
        params = Reassemble(producers=len(node.inputs) - 1, level=level, order=node.attrs["order"])
        inputs = {name: to.input(node, index) for index, name in enumerate(params.inputs)}
        to.unit(node.name, params, **inputs, y=to.output(node))

    def shares(self, node: Node, outputs: Sequence[int]) -> int:
        """As many as of what it merges."""
        return outputs[0]
