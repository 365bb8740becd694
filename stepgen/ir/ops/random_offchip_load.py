"""random_offchip_load: reads one tile of off-chip memory per address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from stepgen.ir.expr import Expr
from stepgen.ir.graph import build
from stepgen.ir.offchip import check_addresses, tensor_tile, tile_bytes
from stepgen.ir.operator import Call, Operator, public
from stepgen.ir.policy import Policy
from stepgen.ir.stream import Node, Out, Stream
from stepgen.ir.tensor import Tensor
from stepgen.ir.tile_order import TileOrder

if TYPE_CHECKING:
    from stepgen.ir.ordering import Ordering


class RandomOffchipLoad(Operator):
    """Addresses ``[D_a..D_0]`` -> tiles of the same shape.

    Attributes of a node: ``tensor`` (name), ``tile``.
    """

    reads = "tensor"
    is_main: ClassVar[bool] = True

    def infer(self, call: Call) -> Sequence[Out]:
        """An address is the number of a tile."""
        addresses = call.inputs[0]
        check_addresses(call, addresses)
        tile = tensor_tile(call)
        return [Out(addresses.shape, tile, dict(enumerate(addresses.totals)))]

    def steered_by(self, node: Node) -> Sequence[int]:
        """The addresses."""
        return (0,)

    def steers(self, node: Node, index: int) -> bool:
        """The addresses do."""
        return True

    def traffic(self, node: Node, policy: Policy) -> Expr:
        """Every tile, in the bytes of its type."""
        return node.outputs[0].totals[0] * tile_bytes(node)

    def memory(self, node: Node, policy: Policy) -> Expr:
        """The tiles in flight."""
        return tile_bytes(node) * policy.buffering

    def order(self, of: Ordering) -> TileOrder:
        """That of the addresses, if it follows from the structure."""
        numbers = of.addresses()
        if numbers is None:
            return of.own()
        return of.load([[(n, s[0]) for n, s in dim] for dim in numbers.dims], 0)


@public
def random_offchip_load(
    addr: Stream, tensor: Tensor, *, tile: tuple[int, int], name: str | None = None
) -> Stream:
    """Read one tile for each address.

    Parameters
    ----------
    addr : Stream
        Scalars of type `address`: the number of the tile within the tensor, row-major.
    tensor : Tensor
        What to read.
    tile : tuple of int
        Rows and columns of a tile; they must divide the tensor's.
    name : str, optional
        Name of the node.

    Returns
    -------
    Stream
        Tiles in the shape of `addr`. A number past the last tile is an error at run time.

    Raises
    ------
    StepError
        If the tile does not divide the tensor or `addr` carries no addresses.

    Notes
    -----
    RandomOffChipLoad (paper, section 3).

    Examples
    --------
    >>> g = sg.Graph()
    >>> at, w = g.input("at", sg.address[1, 1], (3,)), g.tensor("w", (16, 32), "int8")
    >>> at.random_offchip_load(w, tile=(16, 8))
    <random_offchip_load_0.0 Stream[int8 16x8; 3]>
    """
    attrs = {"tensor": tensor.name, "tile": tile}
    return build("random_offchip_load", (addr,), attrs, name, tensor=tensor)[0]
