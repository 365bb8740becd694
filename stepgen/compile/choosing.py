"""What the function of an operator chooses as its circuit: a unit, or units in a chain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..hw.design.params import UnitParams, unfinished
from ..ir.arguments import shown
from ..ir.errors import StepError
from ..ir.stream import Node, Stream
from ..ir.wire import wire_levels
from .lower import Lowering


def chosen(
    node: Node, to: Lowering, choose: Callable[[], Any], *, in_chain: bool | None = None
) -> Any:
    """What the function of a node chooses as its circuit: a unit, or units in a chain.

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
    x, y = node.inputs[0], node.outputs[0]
    lowered = sum(one.lowered for one in (units if many else [units]))
    if wire_levels(x.dtype) - lowered != wire_levels(y.dtype):
        raise to.fail(
            node,
            f"{x.name} is {x} and {y.name} is {y}: circuits make no tiles of flags and no "
            f"flags of tiles yet",
        )
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
        if len(node.inputs) != 1:
            raise to.fail(
                node,
                f"{node.attrs['fn']} has {len(node.inputs)} operands and chooses "
                f"{shown(params)}: units in a chain take one",
            )
        return add_chain(node, to, params, node.inputs[0])
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
    structural = node.attrs["fn"].structural
    inputs = {
        name: to.input(node, index, structure_only=structural)
        for index, name in enumerate(params.inputs)
    }
    to.unit(node.name, params, **inputs, y=to.output(node, delay=params.delay(to.lanes)))


def add_chain(
    node: Node, to: Lowering, units: Sequence[UnitParams], carried: Stream, **last: str
) -> None:
    """Add units of one input and output, one behind the other, from a node's first input on.

    Channels between them have the format of the stream `carried`. The last unit also reads the
    channels `last`, by port.

    Raises
    ------
    StepError
        If a unit has other ports.
    """
    channel, dims = to.input(node, 0), to.extents(node, node.inputs[0])
    for left, params in enumerate(units, 1 - len(units)):
        is_last = left == 0
        if len(params.inputs) != 1 + is_last * len(last) or len(params.outputs) != 1:
            raise to.fail(
                node, f"the unit {type(params).__name__} must have one input and one output"
            )
        delay = params.delay(to.lanes)
        if is_last:
            name, target, inputs = node.name, to.output(node, delay=delay), last
        else:
            dims, inputs = params.extents(dims), {}
            name = f"{node.name}_{params.kind}"
            target = to.link(node, params.kind, carried, dims, delay=delay)
        ports = {params.inputs[0]: channel, **inputs, params.outputs[0]: target}
        to.unit(name, params, **ports)
        channel = target
