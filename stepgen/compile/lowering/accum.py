"""Accum becomes the unit of its function."""

from ...ir.stream import Node
from ..circuit import Circuit
from ..folding import fold
from ..lower import Lowering


class AccumCircuit(Circuit):
    """The units of the function, if it has a circuit."""

    covers = (
        "sums, products, maxima, minima, element by element; matmul (int8 and int16 to int32, "
        "bf16 and f32 to f32); count; where the largest is; retile_row; retile_col over static "
        "dims"
    )

    def lower(self, node: Node, to: Lowering) -> None:
        fold(node, to, node.attrs["fn"].fold_unit, joins=True)
