"""FlatMap becomes the units of its function, one behind the other, and for padding `drop`."""

from ...hw.units.drop.params import Drop
from ...ir.stream import Node
from ..circuit import Circuit
from ..lower import Lowering


class FlatMapCircuit(Circuit):
    """The units of the function; behind them those pieces vanish that consist of padding."""

    covers = (
        "retile_streamify by rows, and by columns of one row; one_hot; ranges of addresses; "
        "addresses of tiles"
    )

    def lower(self, node: Node, to: Lowering) -> None:
        function, x, y = node.attrs["fn"], node.inputs[0], node.outputs[0]
        dims = to.extents(node, x)
        units = to.chosen(
            node, lambda: function.cut_units(to.lanes, x, node.attrs["rank"]), in_chain=True
        )
        for one in units:
            if not len(one.inputs) == len(one.outputs) == 1:
                raise to.fail(
                    node, f"the unit {type(one).__name__} must have one input and one output"
                )
        if len(node.inputs) > 1:
            units = [*units, Drop(hold=y.rank > 0)]

        channel = to.input(node, 0)
        for place, params in enumerate(units, 1 - len(units)):
            dims, delay = params.extents(dims), params.delay(to.lanes)
            if place == 0:
                name, target = node.name, to.output(node, delay=delay)
            else:
                name = f"{node.name}_{params.kind}"
                target = to.link(node, params.kind, y, dims, delay=delay)
            inputs = {params.inputs[0]: channel}
            if isinstance(params, Drop):
                inputs["flags"] = to.input(node, 1)
            to.unit(name, params, **inputs, **{params.outputs[0]: target})
            channel = target

    def ignores_stops(self, node: Node, index: int) -> bool:
        """`drop` counts the flags of its elements."""
        return index == 1
