"""An input becomes a stream port."""

from ...hw.units.source.params import Source
from ...ir.stream import Node
from ..circuit import Circuit
from ..lower import Lowering


class SourceCircuit(Circuit):
    """One source."""

    def lower(self, node: Node, to: Lowering) -> None:
        to.unit(node.name, Source(), y=to.output(node))
