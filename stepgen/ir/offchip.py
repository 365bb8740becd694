"""Common checks of the off-chip operators."""

from __future__ import annotations

from stepgen.ir.dtypes import Tile, address
from stepgen.ir.operator import Call
from stepgen.ir.stream import Stream


def tensor_tile(call: Call) -> Tile:
    """The tile type of the node's tensor, for the parameter ``tile``.

    Raises
    ------
    StepError
        Through `call`, if the tile does not divide the tensor.
    """
    tensor = call.graph.tensors[call.attrs["tensor"]]
    rows, cols = call.attrs["tile"]
    if min(rows, cols) < 1:
        call.fail(f"tile must be 2 positive extents, rows and columns, not {(rows, cols)}")
    for what, whole, part in zip(("rows", "cols"), tensor.shape, (rows, cols), strict=True):
        if whole % part:
            call.fail(
                f"a tile of shape {[rows, cols]} does not divide tensor {tensor.name} of shape "
                f"{list(tensor.shape)}, {whole} {what} by {part}"
            )
    return Tile(rows, cols, tensor.element)


def check_addresses(call: Call, stream: Stream) -> None:
    """Check that a stream has addresses.

    Raises
    ------
    StepError
        Through `call`, if it does not.
    """
    if stream.dtype != Tile(1, 1, address):
        call.fail(f"{stream.name} must be a stream of {Tile(1, 1, address)}, not {stream}")
