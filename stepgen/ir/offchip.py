"""What the off-chip operators check alike."""

from __future__ import annotations

from collections.abc import Sequence

from stepgen.ir.dtypes import Tile, address
from stepgen.ir.graph import Tensor
from stepgen.ir.operator import Call
from stepgen.ir.stream import Stream


def tensor_tile(call: Call, tensor: Tensor, tile: Sequence[int]) -> Tile:
    """The tile type of a tensor that is cut into tiles.

    Raises
    ------
    StepError
        Through `call`, if the tile does not divide the tensor.
    """
    if len(tile) != 2 or any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in tile):
        call.fail(f"tile must be 2 positive extents, rows and columns, not {list(tile)}")
    for what, whole, part in zip(("rows", "cols"), tensor.shape, tile, strict=True):
        if whole % part:
            call.fail(
                f"a tile of shape {list(tile)} does not divide tensor {tensor.name} of shape "
                f"{list(tensor.shape)}, {whole} {what} by {part}"
            )
    return Tile(tile[0], tile[1], tensor.element)


def check_addresses(call: Call, stream: Stream) -> None:
    """Check that a stream carries addresses.

    Raises
    ------
    StepError
        Through `call`, if it does not.
    """
    if stream.dtype != Tile(1, 1, address):
        call.fail(f"{stream.name} must be a stream of {Tile(1, 1, address)}, not {stream}")
