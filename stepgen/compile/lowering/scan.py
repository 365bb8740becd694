"""Scan becomes the unit of its function."""

from ...ir.stream import Node
from ..circuit import Circuit
from ..folding import fold
from ..lower import Lowering


class ScanCircuit(Circuit):
    """One unit, if the function has a circuit; a matmul of integers has two."""

    covers = (
        "sums, products, maxima, minima, element by element; count; "
        "matmul (int8 and int16 to int32, bf16 and f32 to f32)"
    )

    def lower(self, node: Node, to: Lowering) -> None:
        fold(node, to, node.attrs["fn"].scan_unit, joins=False)
