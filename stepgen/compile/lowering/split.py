"""Split becomes a `split` unit."""

from collections.abc import Sequence

from ...hw.units.split.params import Split
from ...ir.stream import Node
from ...ir.wire import wire_levels
from ..circuit import Circuit
from ..lower import Lowering


class SplitCircuit(Circuit):
    """One unit, which counts."""

    moves = True

    def lower(self, node: Node, to: Lowering) -> None:
        level = wire_levels(node.inputs[0].dtype) + node.attrs["dim"]
        params = Split(tuple(node.attrs["sizes"]), level)
        ys = {y: to.output(node, port) for port, y in enumerate(params.outputs)}
        to.unit(node.name, params, x=to.input(node, 0), **ys)

    def shares(self, node: Node, outputs: Sequence[int]) -> int | None:
        """Those of an output, if all have as many."""
        return outputs[0] if len(outputs) == len(node.outputs) and len({*outputs}) == 1 else None
