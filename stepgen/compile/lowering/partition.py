"""Partition becomes a `partition` unit."""

from collections.abc import Sequence

from ...hw.units.partition.params import Partition
from ...ir.dtypes import Selector
from ...ir.stream import Node
from ...ir.wire import wire_levels
from ..circuit import Circuit
from ..lower import Lowering


class PartitionCircuit(Circuit):
    """One unit with an output per consumer."""

    moves = True
    routes = True

    def lower(self, node: Node, to: Lowering) -> None:
        x = node.inputs[0]
        level = wire_levels(x.dtype) + node.attrs["rank"]
        shares = tuple(to.stored.shares.get(y, 0) for y in node.outputs)
        rest = to.stored.rests.get(node)
        params = Partition(
            consumers=len(node.outputs),
            level=level,
            surplus=node.name in to.on_cycles,
            shares=shares if any(shares) else (),
            given=self.shares(node, shares),
            rests=rest is not None,
            once=node.graph.routing(node.inputs[1]).once,
        )
        delay = params.delay(to.lanes)
        ys = {y: to.output(node, port, delay=delay) for port, y in enumerate(params.ys)}
        if rest is not None:
            ys["rest"] = rest
        to.unit(node.name, params, x=to.input(node, 0), sel=to.input(node, 1), **ys)

    def shares(self, node: Node, outputs: Sequence[int]) -> int:
        """Those of the outputs that a selector may name, if it names the ones that have most."""
        selector = node.inputs[1].dtype
        assert isinstance(selector, Selector)
        return sum(sorted(outputs, reverse=True)[: selector.hot])

    def returns(self, node: Node, outputs: Sequence[int]) -> bool:
        """Unless each selector names as many outputs, and these have equal shares."""
        selector = node.inputs[1].dtype
        assert isinstance(selector, Selector)
        return bool(outputs) and (selector.hot is None or len(set(outputs)) > 1)
