"""Unzip needs no unit: the items of tuples are streams already."""

from ...ir.stream import Node
from ..circuit import Circuit
from ..lower import Lowering


class UnzipCircuit(Circuit):
    """Nothing (see `stepgen.compile.unzip`)."""

    bundles = True

    def lower(self, node: Node, to: Lowering) -> None:
        """Tuples have become streams of their items already."""

    def ignores_stops(self, node: Node, index: int) -> bool:
        """It reads nothing."""
        return True
