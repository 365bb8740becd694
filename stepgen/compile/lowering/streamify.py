"""Streamify becomes a part of the PMU that stores what it reads."""

from ...ir.stream import Node
from ..circuit import Circuit
from ..lower import Lowering


class StreamifyCircuit(Circuit):
    """The reading side of a PMU, which the lowering of Bufferize adds."""

    moves = True

    covers = "several for each bufferize; affine readings of static tiles"

    def lower(self, node: Node, to: Lowering) -> None:
        """Nothing is left to add."""
