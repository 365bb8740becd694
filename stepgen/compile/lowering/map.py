"""Map becomes a matrix unit or a pipeline."""

from ...functions.arithmetic import Matmul
from ...functions.elementwise import Requantize
from ...hw.design.params import UnitParams
from ...hw.units.matmul import params as matmul
from ...hw.units.requantize import params as requantize
from ...ir.dtypes import Tile
from ...ir.stream import Node
from ..blind import comes_blind
from ..lower import Lowering


def lower(node: Node, to: Lowering) -> None:
    """One unit per function that has a circuit."""
    function = node.attrs["fn"]
    params: UnitParams
    if isinstance(function, Matmul) and not function.transpose:
        params = _matmul(node, to)
    elif isinstance(function, Requantize):
        params = requantize.Requantize(**function.parameters())
    else:
        raise to.fail(node, f"{function} has no circuit yet")
    inputs = {name: to.input(node, index) for index, name in enumerate(params.inputs)}
    to.unit(node.name, params, **inputs, y=to.output(node, delay=params.delay(to.lanes)))


def _matmul(node: Node, to: Lowering) -> matmul.Matmul:
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
    return matmul.Matmul(
        k=k,
        n=n,
        in_bits=x.element.bits,
        out_bits=y.element.bits,
        stops=not comes_blind(node.inputs[1]),
    )
