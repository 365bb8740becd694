"""Concat becomes a `concat` unit."""

from ...hw.units.concat.params import Concat
from ...ir.stream import Node
from ...ir.wire import wire_levels
from ..circuit import Circuit
from ..lower import Lowering


class ConcatCircuit(Circuit):
    """One unit with an input per stream."""

    covers = "groups of which the last stream's are not empty"
    moves = True

    def lower(self, node: Node, to: Lowering) -> None:
        last, dim = node.inputs[-1], node.attrs["dim"]
        if last.rank > dim and last.dim(dim).may_be_empty:
            raise to.fail(
                node,
                f"D{dim} of {last.name}, {last.dim(dim)}, may be 0: the stream that comes last "
                f"must have elements in every group, such as a static number of them",
            )
        params = Concat(len(node.inputs), wire_levels(last.dtype) + dim)
        xs = {x: to.input(node, index) for index, x in enumerate(params.inputs)}
        to.unit(node.name, params, **xs, y=to.output(node))
