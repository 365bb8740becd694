"""Zip needs no unit: whoever reads its tuples reads its inputs."""

from ...ir.stream import Node
from ..circuit import Circuit
from ..lower import Lowering


class ZipCircuit(Circuit):
    """Nothing (see `stepgen.compile.unzip`)."""

    bundles = True

    def lower(self, node: Node, to: Lowering) -> None:
        """Tuples have become streams of their items already."""

    def ignores_stops(self, node: Node, index: int) -> bool:
        """It reads nothing."""
        return True
