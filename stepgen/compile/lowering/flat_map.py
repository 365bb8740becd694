"""FlatMap of retile_streamify by rows becomes stop units, and a filter where rows are padding."""

from ...functions.retiling import RetileStreamify
from ...ir.dims import static
from ...ir.dtypes import Tile
from ...ir.stream import Node
from ..lower import Lowering
from ..sizing.pace import Extent


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

    channel, dims = to.input(node, 0), to.extents(node, x)
    for index, (kind, params) in enumerate(stages):
        if kind == "promote":
            dims = [dims[0], Extent.of(static(1)), *dims[1:]]
        elif kind == "flatten":
            dims = [*dims[:2], dims[2] * dims[3], *dims[4:]]
        last = index == len(stages) - 1
        target = to.output(node) if last else to.link(node, kind, y, dims)
        inputs = [channel]
        if kind == "drop":
            inputs.append(to.input(node, 1))
        to.unit(node.name if last else f"{node.name}_{kind}", kind, params, inputs, [target])
        channel = target
