"""linear_offchip_store: writes tiles to off-chip memory one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from stepgen.ir.dtypes import Tile
from stepgen.ir.expr import Expr
from stepgen.ir.graph import build
from stepgen.ir.offchip import check_stored
from stepgen.ir.operator import Call, Operator, Sizes, public
from stepgen.ir.policy import Policy
from stepgen.ir.stream import Node, Out, Stream
from stepgen.ir.tensor import Tensor


class LinearOffchipStore(Operator):
    """``[D_a..D_0]`` -> nothing. Attributes of a node: ``tensor`` (name)."""

    writes = "tensor"
    is_main: ClassVar[bool] = True
    is_sink: ClassVar[bool] = True
    writes_unnoticed: ClassVar[bool] = True

    def infer(self, call: Call) -> Sequence[Out]:
        """Check the element type, and the size if it is known."""
        tensor, x = call.graph.tensors[call.attrs["tensor"]], call.inputs[0]
        tile = call.tile(x)
        check_stored(call)
        if tile.element != tensor.element:
            call.fail(f"{x.name} is {x}, but tensor {tensor.name} is made of {tensor.element}")
        room = tensor.shape[0] * tensor.shape[1]
        if (x.volume.integer or 0) > room:
            call.fail(
                f"{x.name} is {x} with {x.volume} elements, but tensor {tensor.name} of shape "
                f"{list(tensor.shape)} has room for {room}"
            )
        return []

    def traffic(self, node: Node, policy: Policy) -> Expr:
        """Every tile that is written."""
        tile = node.inputs[0].dtype
        assert isinstance(tile, Tile)
        return node.inputs[0].volume * policy.bytes_per_element(tile)

    def memory(self, node: Node, policy: Policy) -> Expr:
        """The tiles in flight."""
        return policy.on_chip(node.inputs[0].dtype) * policy.buffering

    def measured_memory(self, node: Node, sizes: Sizes) -> int:
        """The tiles in flight."""
        return sizes.policy.buffering * sizes.element(node.inputs[0])


@public
def linear_offchip_store(x: Stream, tensor: Tensor, *, name: str | None = None) -> None:
    """Write a stream of tiles to a tensor, one tile after the other, each row-major.

    Parameters
    ----------
    x : Stream
        Tiles; structure is ignored.
    tensor : Tensor
        Where to.
    name : str, optional
        Name of the node.

    Raises
    ------
    StepError
        If element types differ, the stream is known to be larger than the tensor, or another
        operator reads or writes the tensor: what that finds there would be a matter of luck.

    Notes
    -----
    LinearOffChipStore (paper, section 3).

    Examples
    --------
    >>> g = sg.Graph()
    >>> x, y = g.input("x", sg.int8[4, 8], (2,)), g.tensor("y", (8, 8), "int8")
    >>> x.linear_offchip_store(y)
    """
    build("linear_offchip_store", (x,), {"tensor": tensor.name}, name, tensor=tensor)
