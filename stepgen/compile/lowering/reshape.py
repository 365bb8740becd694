"""Reshape becomes a unit that counts elements, and pads where the dim is the innermost."""

from ...ir.dtypes import Tile
from ...ir.stream import Node
from ...ir.wire import wire_levels
from ..blind import stop_blind
from ..lower import Lowering


def lower(node: Node, to: Lowering) -> None:
    """`reshape` for dim 0, `group` above it."""
    (x,) = node.inputs
    base, chunk = wire_levels(x.dtype), node.attrs["chunk"]
    if node.attrs["dim"] > 0:
        params = {"chunk": chunk, "level": base + node.attrs["dim"]}
        to.unit(node.name, "group", params, [to.input(node, 0)], [to.output(node)])
        return
    rows, slices = 1, 1
    if isinstance(x.dtype, Tile) and base:
        if x.dtype.rows.static is None:
            raise to.fail(node, f"a padding tile needs a static number of rows, not {x.dtype}")
        rows, slices = x.dtype.rows.static, to.slices(node, x.dtype)
    params = {
        "chunk": chunk,
        "level": base,
        "rows": rows,
        "slices": slices,
        "pad": int(node.attrs["pad"]),
        "prompt": stop_blind(node.outputs[1]),
    }
    to.unit(
        node.name, "reshape", params, [to.input(node, 0)], [to.output(node, 0), to.output(node, 1)]
    )
