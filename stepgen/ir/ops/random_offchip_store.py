"""random_offchip_store: writes one tile to off-chip memory per address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from stepgen.ir.dtypes import FLAG, Tile
from stepgen.ir.expr import Expr
from stepgen.ir.graph import build
from stepgen.ir.offchip import check_addresses, check_stored, tensor_tile
from stepgen.ir.operator import Call, Operator, public
from stepgen.ir.policy import Policy
from stepgen.ir.stream import Node, Out, Stream
from stepgen.ir.tensor import Tensor


class RandomOffchipStore(Operator):
    """Addresses and data ``[D_a..D_0]`` -> acknowledgements of the same shape.

    Attributes of a node: ``tensor`` (name), ``tile``.
    """

    writes = "tensor"
    is_main: ClassVar[bool] = True
    is_sink: ClassVar[bool] = True
    optional_outputs: ClassVar[frozenset[int]] = frozenset({0})

    def infer(self, call: Call) -> Sequence[Out]:
        """The data must be tiles of the tensor."""
        addresses, data = call.inputs
        check_addresses(call, addresses)
        tile = tensor_tile(call)
        check_stored(call)
        call.same_shape(addresses, data)
        if data.dtype != tile:
            call.fail(
                f"{data.name} is {data}, but tiles of tensor {call.attrs['tensor']} are {tile}"
            )
        return [Out(addresses.shape, FLAG, dict(enumerate(addresses.totals)))]

    def contents(self, node: Node, port: int) -> Sequence[int] | None:
        """All acknowledgements are equal."""
        return ()

    def steered_by(self, node: Node) -> Sequence[int]:
        """The addresses."""
        return (0,)

    def traffic(self, node: Node, policy: Policy) -> Expr:
        """Every tile that is written."""
        tile = node.inputs[1].dtype
        assert isinstance(tile, Tile)
        return node.inputs[1].volume * policy.bytes_per_element(tile)

    def memory(self, node: Node, policy: Policy) -> Expr:
        """The tiles in flight."""
        return policy.on_chip(node.inputs[1].dtype) * policy.buffering


@public
def random_offchip_store(
    addr: Stream,
    data: Stream,
    tensor: Tensor,
    *,
    tile: tuple[int, int],
    name: str | None = None,
) -> Stream:
    """Write one tile to each address.

    Parameters
    ----------
    addr : Stream
        Scalars of type `address`: the number of the tile within the tensor, row-major.
    data : Stream
        Tiles, in the shape of `addr`.
    tensor : Tensor
        Where to.
    tile : tuple of int
        Rows and columns of a tile; they must divide the tensor's.
    name : str, optional
        Name of the node.

    Returns
    -------
    Stream
        A flag per tile, once it is written. Nobody has to read it.

    Raises
    ------
    StepError
        If shapes or tiles don't fit.

    Notes
    -----
    RandomOffChipStore (paper, section 3): an acknowledgement follows its write.

    Examples
    --------
    >>> g = sg.Graph()
    >>> at, x = g.input("at", sg.address[1, 1], (3,)), g.input("x", sg.int8[4, 8], (3,))
    >>> at.random_offchip_store(x, g.tensor("y", (16, 8), "int8"), tile=(4, 8))
    <random_offchip_store_0.0 Stream[bool 1x1; 3]>
    """
    attrs = {"tensor": tensor.name, "tile": tile}
    return build("random_offchip_store", (addr, data), attrs, name, tensor=tensor)[0]
