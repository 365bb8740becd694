"""What the off-chip operators check alike."""

from __future__ import annotations

from stepgen.ir.dtypes import Tile, address
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Tensor, as_pair
from stepgen.ir.operator import Call
from stepgen.ir.stream import Stream
from stepgen.ir.where import user_line


def as_tensor(op: str, value: object) -> Tensor:
    """The tensor that a user gave.

    Raises
    ------
    StepError
        If it is none.
    """
    if not isinstance(value, Tensor):
        raise StepError(f"{op} at {user_line()}: it needs a tensor of the graph, not {value!r}")
    return value


def tensor_tile(call: Call) -> Tile:
    """The tile type of the node's tensor, cut into tiles of the parameter ``tile``.

    Raises
    ------
    StepError
        Through `call`, if the tile does not divide the tensor.
    """
    tensor = call.graph.tensors[call.attrs["tensor"]]
    rows, cols = as_pair(f"{call.op} at {call.where}: tile", call.attrs["tile"])
    call.attrs["tile"] = rows, cols
    for what, whole, part in zip(("rows", "cols"), tensor.shape, (rows, cols), strict=True):
        if whole % part:
            call.fail(
                f"a tile of shape {[rows, cols]} does not divide tensor {tensor.name} of shape "
                f"{list(tensor.shape)}, {whole} {what} by {part}"
            )
    return Tile(rows, cols, tensor.element)


def check_addresses(call: Call, stream: Stream) -> None:
    """Check that a stream carries addresses.

    Raises
    ------
    StepError
        Through `call`, if it does not.
    """
    if stream.dtype != Tile(1, 1, address):
        call.fail(f"{stream.name} must be a stream of {Tile(1, 1, address)}, not {stream}")
