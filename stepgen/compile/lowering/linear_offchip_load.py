"""LinearOffChipLoad becomes a load unit."""

from ...ir.stream import Node
from ...ir.wire import wire_levels
from ..circuit import Circuit
from ..lower import Lowering
from ..reading import add_load
from ..stop_use import stops_unused
from ..whole import written


class LinearOffchipLoadCircuit(Circuit):
    """One load, with its channels to the arbiter."""

    moves = True

    def lower(self, node: Node, to: Lowering) -> None:
        ref = node.inputs[0] if node.inputs else None
        add_load(
            node,
            to,
            2 * to.bus.burst,
            None if ref is None else to.input(node, 0, structure_only=True),
            shape=node.attrs["shape"],
            stride=node.attrs["stride"],
            offset=node.attrs["offset"],
            ref_level=None if ref is None else wire_levels(ref.dtype),
            prompt=ref is not None and stops_unused(node.outputs[0]),
            whole=ref is not None and written(node),
        )
