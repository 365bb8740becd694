"""FlatMap of retile_streamify by rows becomes stop units, and a filter where rows are padding."""

from ...ir.dims import product_bound
from ...ir.dtypes import Tile
from ...ir.functions.retile_streamify import RetileStreamify
from ...ir.stream import Node
from ...ir.wire import wire_levels
from ..lower import Lowering


def lower(node: Node, to: Lowering) -> None:
    """Rows become tiles: a new dim below the rows, which for rank 0 joins the dim above them."""
    function, x = node.attrs["fn"], node.inputs[0]
    if not isinstance(function, RetileStreamify) or function.axis != "row":
        raise to.fail(node, f"{function} has no circuit yet")
    assert isinstance(x.dtype, Tile)
    (y,) = node.outputs
    stages: list[tuple[str, dict[str, object]]] = [("promote", {"level": 1, "outermost": False})]
    if node.attrs["rank"] == 0:
        hold = x.rank > 0 and x.dtype.rows.may_be_empty
        stages.append(("flatten", {"lo": 2, "hi": 3, "hold": hold}))
    padded = len(node.inputs) > 1
    if padded:
        stages.append(("drop", {"hold": y.rank > 0}))

    channel, rank = to.input(node, 0), x.rank + wire_levels(x.dtype)
    for index, (kind, params) in enumerate(stages):
        rank += {"promote": 1, "flatten": -1, "drop": 0}[kind]
        last = index == len(stages) - 1
        target = to.output(node) if last else to.link(node, kind, y, rank)
        inputs = [channel]
        if kind == "drop":
            inputs.append(to.input(node, 1, depth=_flags_ahead(node)))
        to.unit(node.name if last else f"{node.name}_{kind}", kind, params, inputs, [target])
        channel = target


FLAGS = 64
"""Flags that run ahead of their rows at most: what a LUT RAM holds, at a bit each."""


def _flags_ahead(node: Node) -> int:
    """Flags come as soon as rows are known, rows after all that is done to them in between."""
    padding = node.inputs[1]
    chunk = padding.dim(0).bound or FLAGS
    every = product_bound(padding.shape)
    return max(2, 2 * chunk, min(FLAGS, every or FLAGS))
