"""FlatMap becomes the units of its function, one behind the other, and for padding `drop`."""

from ...hw.units.as_scalar.params import AsScalar
from ...hw.units.drop.params import Drop
from ...ir.dtypes import FLAG
from ...ir.stream import Node
from ..choosing import add_chain, chosen
from ..circuit import Circuit
from ..flags import AS_TILE
from ..lower import Lowering


class FlatMapCircuit(Circuit):
    """The units of the function; behind them those pieces vanish that consist of padding."""

    def lower(self, node: Node, to: Lowering) -> None:
        function, x, y = node.attrs["fn"], node.inputs[0], node.outputs[0]
        units = chosen(
            node, to, lambda: function.cut_units(to.lanes, x, node.attrs["rank"]), in_chain=True
        )
        if x.dtype == y.dtype == FLAG:  # neither has dims of a tile, with which units cut
            if len(node.inputs) > 1:
                raise to.fail(
                    node, f"single flags, such as {x.name}, are dropped by no circuit yet"
                )
            units = [AS_TILE, *units, AsScalar()]
        if len(node.inputs) > 1:
            add_chain(node, to, [*units, Drop(hold=y.rank > 0)], y, flags=to.input(node, 1))
        else:
            add_chain(node, to, units, y)

    def ignores_stops(self, node: Node, index: int) -> bool:
        """`drop` counts the flags of its elements."""
        return index == 1
