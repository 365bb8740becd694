"""What the function of an operator chooses as its circuit: a unit, or units in a chain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from stepgen.compile.dynamic import given, taken
from stepgen.compile.flags import AS_TILE, tiles_in
from stepgen.hw.design.params import UnitParams, unfinished
from stepgen.hw.units.as_scalar.params import AsScalar
from stepgen.ir.arguments import shown
from stepgen.ir.dtypes import FLAG
from stepgen.ir.errors import StepError
from stepgen.ir.stream import Node, Stream
from stepgen.ir.wire import TILE_LEVELS, wire_levels

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering


def chosen(
    node: Node, to: Lowering, choose: Callable[[], Any], *, in_chain: bool | None = None
) -> Any:
    """What the function of a node chooses as its circuit: a unit, or units in a chain.

    A flag has no dims of a tile on the wire. Where units of tiles take or make flags, one that adds
    or drops these dims stands before or behind them.

    Parameters
    ----------
    node : Node
    to : Lowering
    choose : function of nothing
        Asks the function.
    in_chain : bool, optional
        Which of both it has to be, if only one will do.

    Raises
    ------
    StepError
        If it has none, or `choose` raises it.
    """
    function = node.attrs["fn"]
    for x in (*node.inputs, *node.outputs):
        if not function.any_columns and wire_levels(x.dtype) and x.dtype.dims[-1].static is None:
            raise to.fail(
                node,
                f"{function} has no circuit yet for tiles of dynamic columns, such as {x.dtype}",
            )
    try:
        units = choose()
    except StepError as error:
        raise to.fail(node, str(error)) from None
    if not units:
        raise to.fail(node, f"{node.attrs['fn']} has no circuit yet")
    many = isinstance(units, list | tuple)
    for one in units if many else [units]:
        if said := unfinished(one):
            raise to.fail(node, f"the unit that {node.attrs['fn']} chooses {said}")
    if in_chain not in (None, many):
        takes = "a list of units" if in_chain else "one unit"
        raise to.fail(node, f"{node.attrs['fn']} must choose {takes}, not {shown(units)}")
    levels, y = [wire_levels(x.dtype) for x in node.inputs], node.outputs[0].dtype
    chain = [*units] if many else [units]
    more = max(levels) - sum(one.lowered for one in chain) - wire_levels(y)
    # Flags have no dims of a tile, which units that join or cut tiles rewrite.
    if node.inputs[0].dtype == y == FLAG and function.gathers:
        return [AS_TILE, *chain, AsScalar()]
    if more == -TILE_LEVELS and node.inputs[0].dtype == FLAG and len(levels) == 1:
        return [AS_TILE, *chain]
    if more == TILE_LEVELS and y == FLAG:
        return [*chain, AsScalar()]
    return units


def add_chosen(node: Node, to: Lowering, choose: Callable[[], Any]) -> None:
    """Add what the function of a node chooses, without contents that it ignores.

    Raises
    ------
    StepError
        If it has none, or one with other ports.
    """
    params = chosen(node, to, choose)
    if isinstance(params, list | tuple):
        if len(node.inputs) > 1 and len(params[0].inputs) == 1:
            raise to.fail(
                node,
                f"{node.attrs['fn']} has {len(node.inputs)} operands and chooses "
                f"{shown(params)}: units in a chain take one",
            )
        x, y = node.inputs[0], node.outputs[0]
        return add_chain(node, to, params, y if y.dtype == FLAG else x)
    kind, count = type(params).__name__, len(node.inputs)
    if len(params.inputs) != count:
        raise to.fail(
            node,
            f"the unit {kind} has the inputs {', '.join(params.inputs)}, but "
            f"{node.attrs['fn']} has {count}: name one for each operand, in order",
        )
    if params.outputs != ("y",):
        raise to.fail(
            node,
            f"the unit {kind} of {node.attrs['fn']} has the outputs "
            f"{', '.join(params.outputs)}: the output of a function is called y",
        )
    structural, y = node.attrs["fn"].structural, node.outputs[0]
    inputs = {}
    for index, port in enumerate(params.inputs):
        channel = (
            tiles_in(node, to, index)
            if params.tiled
            else to.input(node, index, structure_only=structural)
        )
        inputs[port] = taken(node, to, params, port, node.inputs[index], channel)
    dims = to.extents(node, y)
    made = given(node, to, params, y, dims, lambda delay: to.output(node, delay=delay))
    to.unit(node.name, params, **inputs, y=made)


def add_chain(
    node: Node, to: Lowering, units: Sequence[UnitParams], carried: Stream, **last: str
) -> None:
    """Add units of one input and output, one behind the other, from a node's first input on.

    The first unit may read all of the node's inputs. Channels between them have the format of the
    stream `carried`; flags are tiles there. The last unit also reads the channels `last`, by port.

    Raises
    ------
    StepError
        If a unit has other ports.
    """
    operands = len(node.inputs) - len(last)
    given = [to.input(node, index) for index in range(operands)]
    dims, levels = to.extents(node, node.inputs[0]), wire_levels(node.inputs[0].dtype)
    for left, params in enumerate(units, 1 - len(units)):
        is_last = left == 0
        if len(params.inputs) != len(given) + is_last * len(last) or len(params.outputs) != 1:
            takes = "one input" if len(given) == 1 else f"{len(given)} inputs"
            raise to.fail(
                node, f"the unit {type(params).__name__} must have {takes} and one output"
            )
        levels -= params.lowered
        delay = params.delay(to.lanes)
        if is_last:
            name, target, inputs = node.name, to.output(node, delay=delay), last
        else:
            dims, inputs = params.extents(dims), {}
            name = f"{node.name}_{params.kind}"
            target = to.link(node, params.kind, carried, dims, delay=delay, tiled=levels > 0)
        ports = {**dict(zip(params.inputs, given, strict=False)), **inputs}
        to.unit(name, params, **ports, **{params.outputs[0]: target})
        given = [target]
