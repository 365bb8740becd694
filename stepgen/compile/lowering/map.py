"""Map becomes a matrix unit or a pipeline."""

from ...ir.dtypes import Tile
from ...ir.functions.matmul import Matmul
from ...ir.functions.requantize import Requantize
from ...ir.stream import Node
from .. import facts
from ..lower import Lowering


def lower(node: Node, to: Lowering) -> None:
    """One unit per function that has a circuit."""
    function = node.attrs["fn"]
    params: dict[str, object]
    if isinstance(function, Matmul) and not function.transpose:
        kind, params = "matmul", _matmul(node, to)
    elif isinstance(function, Requantize):
        kind, params = "requantize", dict(function.parameters())
    else:
        raise to.fail(node, f"{function} has no circuit yet")
    depth = _beats_ahead(node, to) if kind == "matmul" else 2
    inputs = [to.input(node, 0, depth=depth)]
    inputs += [to.input(node, index) for index in range(1, len(node.inputs))]
    delay = facts.delay(kind, params, to.lanes)
    to.unit(node.name, kind, params, inputs, [to.output(node, delay=delay)])


def _matmul(node: Node, to: Lowering) -> dict[str, object]:
    x, w = node.inputs[0].dtype, node.inputs[1].dtype
    assert isinstance(x, Tile)
    assert isinstance(w, Tile)
    if x.element.name != "int8":
        raise to.fail(node, f"the matrix unit multiplies int8 tiles, not {x}")
    k, n = w.rows.static, w.cols.static
    if k is None or n is None or k % to.lanes or n % to.lanes:
        raise to.fail(
            node,
            f"a weight tile of {w} needs static extents that are multiples of {to.lanes} lanes",
        )
    y = node.outputs[0].dtype
    assert isinstance(y, Tile)
    return {"k": k, "n": n, "in_bits": x.element.bits, "out_bits": y.element.bits}


def _beats_ahead(node: Node, to: Lowering) -> int:
    """Beats of x that must have room while their weights are on their way.

    Where a tile is multiplied by weights that it itself asked for, the last of them come when
    the tile has ended, so all of it must fit in front of the unit.
    """
    x, above = node.inputs[0], node.inputs[1]
    while above.node.op in ("flatten", "promote"):
        above = above.node.inputs[0]
    if above.node.op != "linear_offchip_load" or x not in above.node.inputs:
        return 2
    assert isinstance(x.dtype, Tile)
    rows = to.bound(node, f"the number of rows of {x.dtype}", [x.dtype.rows])
    return max(2, rows * to.slices(node, x.dtype) + 1)
