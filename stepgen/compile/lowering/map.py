"""Map becomes the unit of its function."""

from ...ir.dtypes import Tile
from ...ir.stream import Node
from ..circuit import Circuit
from ..lower import Lowering
from ..stop_use import lacks_stops


class MapCircuit(Circuit):
    """One unit, if the function has a circuit."""

    covers = (
        "matmul (int8 to int32, bf16 to f32); sums, products, comparisons, conversions, "
        "requantize, also per column; "
        "rows and columns are broadcast; sums and maxima of rows; shifts of columns"
    )

    def lower(self, node: Node, to: Lowering) -> None:
        function = node.attrs["fn"]
        tiles = [s.dtype for s in (*node.inputs, *node.outputs) if isinstance(s.dtype, Tile)]
        without_stops = [lacks_stops(x) for x in node.inputs]
        of_tiles = len(tiles) == len(node.inputs) + 1
        to.function_unit(
            node, lambda: function.unit(to.lanes, tiles, without_stops) if of_tiles else None
        )

    def ignores_stops(self, node: Node, index: int) -> bool:
        """For the operands that the function's unit counts."""
        return index in node.attrs["fn"].counted
