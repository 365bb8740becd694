"""Flatten becomes a stop unit."""

from ...ir.stream import Node
from ...ir.wire import wire_levels
from ..lower import Lowering


def lower(node: Node, to: Lowering) -> None:
    """One stop unit; it holds a beat back only where an inner dim may be empty."""
    (x,) = node.inputs
    base, lo, hi = wire_levels(x.dtype), node.attrs["lo"], node.attrs["hi"]
    hold = hi < x.rank and any(x.dim(level).may_be_empty for level in range(lo, hi))
    params = {"lo": base + lo, "hi": base + hi, "hold": hold}
    to.unit(node.name, "flatten", params, [to.input(node, 0)], [to.output(node)])
