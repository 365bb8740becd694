"""random_offchip_load: reads one tile of off-chip memory per address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepgen.compile.circuit import Circuit
from stepgen.compile.stop_use import stops_unused
from stepgen.ir.dtypes import Tile
from stepgen.ir.expr import Expr
from stepgen.ir.graph import build
from stepgen.ir.offchip import check_addresses, tensor_tile, tile_bytes, tiles_of
from stepgen.ir.operator import Call, Operator, public
from stepgen.ir.policy import Policy
from stepgen.ir.stream import Node, Out, Stream
from stepgen.ir.tensor import Tensor
from stepgen.ir.tile_order import TileOrder
from stepgen.ir.wire import DONE, VALUE
from stepgen.semantics.process import Process, Use

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering
    from stepgen.ir.ordering import Ordering


class RandomOffchipLoad(Operator, Circuit):
    """Addresses ``[D_a..D_0]`` -> tiles of the same shape.

    Attributes of a node: ``tensor`` (name), ``tile``.
    """

    reads = "tensor"
    is_main = True

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

    def run(self, use: Use) -> Process:
        """An address is the number of a tile; the structure stays."""
        addresses, out = use.inputs[0], use.outputs[0]
        tile = tuple(use["tile"])
        count = use.memory.tiles(use["tensor"], tile)
        while True:
            token = yield from addresses.take()
            if token.kind == VALUE:
                number = int(token.value[0, 0])
                if not 0 <= number < count:
                    use.fail(
                        f"{addresses.name} asks for tile {number} of tensor {use['tensor']}, "
                        f"which has {count} tiles of {tile[0]}x{tile[1]}"
                    )
                out.value(use.memory.read(use.node, tile, number), token.stop)
                continue
            out.put(token)
            if token.kind == DONE:
                return

    def lower(self, node: Node, to: Lowering) -> None:
        """One load, which has so many tiles under way that it covers the latency of the memory."""
        from stepgen.compile.reading import add_load
        from stepgen.hw.design.by_address import in_flight

        tiles, size = tiles_of(node), to.regions[node.attrs["tensor"]].size
        tile, stored = node.outputs[0].dtype, node.graph.tensors[node.attrs["tensor"]].element
        assert isinstance(tile, Tile)
        beat = to.lanes_of(node, tile) * tile.element.bytes / stored.packed
        words, ahead = in_flight(to.bus, size // tiles, beat)
        add_load(
            node,
            to,
            words,
            to.input(node, 0),
            shape=(),
            stride=(),
            ref_level=0,
            ahead=ahead,
            prompt=stops_unused(node.outputs[0]),
            tiles=tiles,
        )


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
