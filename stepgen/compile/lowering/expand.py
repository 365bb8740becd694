"""Expand becomes a ring buffer that replays tiles."""

from ...hw.units.expand.params import Expand
from ...ir.dtypes import Tile
from ...ir.stream import Node
from ...ir.wire import wire_levels
from ..circuit import Circuit
from ..lower import Lowering


class ExpandCircuit(Circuit):
    """One ring buffer, for twice the largest tile."""

    covers = "tiles, by a count or a reference"
    moves = True

    def lower(self, node: Node, to: Lowering) -> None:
        x = node.inputs[0]
        if not isinstance(x.dtype, Tile) or not wire_levels(x.dtype):
            raise to.fail(node, f"only tiles can be repeated in hardware, not {x}")
        rows = to.bound(node, f"the number of rows of {x.dtype}", [x.dtype.rows])
        if len(node.inputs) == 1 and x.rank < 1:
            raise to.fail(node, f"{x.name} is {x}, which has no dim to repeat over")
        ref = node.inputs[1] if len(node.inputs) > 1 else None
        beats = max(rows, 1) * to.slices(node, x.dtype)
        tiles = to.bound(node, f"the number of tiles of {x.name}", x.shape)
        params = Expand(
            count=node.attrs["count"],
            capacity=max(2, beats * min(2, tiles)),
            level=wire_levels(x.dtype) + node.attrs["rank"],
            ref_base=wire_levels(ref.dtype) if ref else 0,
            bits=x.dtype.element.bits,
        )
        told = {"ref": to.input(node, 1, structure_only=True)} if ref else {}
        y = to.output(node, delay=params.delay(to.lanes))
        to.unit(node.name, params, x=to.input(node, 0), **told, y=y)
