"""Fork becomes a `fork` unit."""

from collections.abc import Sequence

from ...hw.units.fork.params import Fork
from ...ir.stream import Node
from ..circuit import Circuit
from ..lower import Lowering


class ForkCircuit(Circuit):
    """One unit with an output per copy."""

    moves = True

    def lower(self, node: Node, to: Lowering) -> None:
        params = Fork(branches=len(node.outputs))
        ys = {y: to.output(node, port) for port, y in enumerate(params.outputs)}
        to.unit(node.name, params, x=to.input(node, 0), **ys)

    def shares(self, node: Node, outputs: Sequence[int]) -> int:
        """Those of all copies."""
        return sum(outputs)

    def only_rewrites_stops(self, node: Node) -> bool:
        """It leaves them as they are."""
        return True
