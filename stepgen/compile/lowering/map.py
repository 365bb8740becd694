"""Map becomes the unit of its function."""

from ...ir.dtypes import Tile
from ...ir.errors import StepError
from ...ir.stream import Node
from ..blind import comes_blind
from ..lower import Lowering


def lower(node: Node, to: Lowering) -> None:
    """One unit, if the function has a circuit."""
    function = node.attrs["fn"]
    tiles = [s.dtype for s in (*node.inputs, *node.outputs) if isinstance(s.dtype, Tile)]
    blind = [comes_blind(x) for x in node.inputs]
    try:
        params = function.unit(to.lanes, tiles, blind) if len(tiles) > len(node.inputs) else None
    except StepError as error:
        raise to.fail(node, str(error)) from None
    if params is None:
        raise to.fail(node, f"{function} has no circuit yet")
    inputs = {name: to.input(node, index) for index, name in enumerate(params.inputs)}
    to.unit(node.name, params, **inputs, y=to.output(node, delay=params.delay(to.lanes)))
