"""An output becomes a stream port."""

from ...hw.units.sink.params import Sink
from ...ir.stream import Node
from ..circuit import Circuit
from ..lower import Lowering


class OutputCircuit(Circuit):
    """One sink."""

    def lower(self, node: Node, to: Lowering) -> None:
        to.unit(node.name, Sink(), x=to.input(node, 0))
