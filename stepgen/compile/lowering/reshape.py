"""Reshape becomes a unit that counts elements, and may pad if the dim is the innermost."""

from ...hw.units.cap.params import Cap
from ...hw.units.group.params import Group
from ...hw.units.reshape.params import Reshape, bits_of
from ...ir.dtypes import Tile
from ...ir.stream import Node
from ...ir.wire import wire_levels
from ..circuit import Circuit
from ..lower import Lowering
from ..stop_use import stops_unused


class ReshapeCircuit(Circuit):
    """`reshape` for dim 0, `cap` without padding, `group` above it."""

    moves = True

    def lower(self, node: Node, to: Lowering) -> None:
        (x,) = node.inputs
        base, chunk = wire_levels(x.dtype), node.attrs["chunk"]
        if node.attrs["pad"] is None:
            cap = Cap(chunk=chunk, level=base, outermost=x.rank == 0)
            to.unit(node.name, cap, x=to.input(node, 0), y=to.output(node))
            return
        if node.attrs["dim"] > 0:
            group = Group(chunk=chunk, level=base + node.attrs["dim"])
            to.unit(node.name, group, x=to.input(node, 0), y=to.output(node))
            return
        rows, slices, pad = 1, 1, node.attrs["pad"]
        if isinstance(x.dtype, Tile) and base:
            if x.dtype.rows.static is None:
                raise to.fail(node, f"a padding tile needs a static number of rows, not {x.dtype}")
            rows, slices = x.dtype.rows.static, to.slices(node, x.dtype)
            pad = bits_of(pad, x.dtype.element)
        params = Reshape(
            chunk=chunk,
            level=base,
            rows=rows,
            slices=slices,
            pad=int(pad),
            prompt=stops_unused(node.outputs[1]),
        )
        y, padding = to.output(node, 0), to.output(node, 1)
        to.unit(node.name, params, x=to.input(node, 0), y=y, padding=padding)
