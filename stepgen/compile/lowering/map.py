"""Map becomes the unit of its function."""

from ...ir.stream import Node
from ..choosing import add_chosen
from ..circuit import Circuit
from ..lower import Lowering
from ..stop_use import lacks_stops


class MapCircuit(Circuit):
    """One unit, if the function has a circuit."""

    covers = (
        "matmul, also of sums that start at a row (int8 and int16 to int32, bf16 and f32 to f32); "
        "sums, products, comparisons, conversions, requantize, also per column; "
        "rows and columns are broadcast; sums, maxima and running maxima of rows; "
        "shifts of columns; the largest of a row, also as selectors, and where it is; "
        "selectors of flags, and flags of selectors; logic of both; what flags choose; "
        "rows placed by number; masks by number and by position; "
        "ranges of starts and lengths, and their ends"
    )

    def lower(self, node: Node, to: Lowering) -> None:
        function = node.attrs["fn"]
        types = [s.dtype for s in (*node.inputs, *node.outputs)]
        without_stops = [lacks_stops(x) for x in node.inputs]
        add_chosen(node, to, lambda: function.unit(to.lanes, types, without_stops))

    def ignores_stops(self, node: Node, index: int) -> bool:
        """For the operands that the function's unit counts."""
        return index in node.attrs["fn"].counted
