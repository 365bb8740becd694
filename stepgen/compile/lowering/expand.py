"""Expand becomes a ring buffer that replays elements."""

from collections.abc import Sequence
from dataclasses import replace

from ...hw.units.expand.params import Expand
from ...ir.dims import held_at_once
from ...ir.dtypes import Tile
from ...ir.stream import Node
from ...ir.wire import wire_levels
from ..circuit import Circuit
from ..lower import Lowering


class ExpandCircuit(Circuit):
    """One ring buffer, for twice the largest element, or once where memory is scarce."""

    covers = "all; references to buffers by a count, or where they go to streamify alone"
    moves = True

    def shares(self, node: Node, outputs: Sequence[int]) -> int | None:
        """Those of all copies, if their number is known."""
        count = node.attrs["count"]
        return None if count is None else int(count) * outputs[0]

    def lower(self, node: Node, to: Lowering) -> None:
        x = node.inputs[0]
        base = wire_levels(x.dtype)
        if len(node.inputs) == 1 and x.rank < 1:
            raise to.fail(node, f"{x.name} is {x}, which has no dim to repeat over")
        ref = node.inputs[1] if len(node.inputs) > 1 else None
        beats = 1
        if base and isinstance(x.dtype, Tile):
            rows = to.bound(node, f"the number of rows of {x.dtype}", [x.dtype.rows])
            beats = max(rows, 1) * to.slices(node, x.dtype)
        one = Expand(
            count=node.attrs["count"],
            capacity=max(2, beats),
            base=base,
            level=base + node.attrs["rank"],
            ref_base=0 if ref is None else wire_levels(ref.dtype),
        )
        full = replace(one, capacity=max(2, beats * held_at_once(x.shape)))
        params = to.sized(full, one)
        reference = {} if ref is None else {"ref": to.input(node, 1, structure_only=True)}
        y = to.output(node, delay=params.delay(to.lanes))
        to.unit(node.name, params, x=to.input(node, 0), **reference, y=y)
