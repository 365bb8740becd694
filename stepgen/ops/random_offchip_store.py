"""random_offchip_store: writes one tile to off-chip memory per address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stepgen.compile.circuit import Circuit
from stepgen.ir.dtypes import FLAG, Tile, address
from stepgen.ir.expr import Expr
from stepgen.ir.graph import build
from stepgen.ir.offchip import check_addresses, check_stored, tensor_tile, tiles_of
from stepgen.ir.operator import Call, Operator, public
from stepgen.ir.policy import Policy
from stepgen.ir.stream import Node, Out, Stream
from stepgen.ir.tensor import Tensor
from stepgen.ir.wire import DONE, VALUE
from stepgen.semantics.numbers import DTYPES
from stepgen.semantics.process import Process, Use

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering


class RandomOffchipStore(Operator, Circuit):
    """Addresses and data ``[D_a..D_0]`` -> acknowledgements of the same shape.

    Attributes of a node: ``tensor`` (name), ``tile``.
    """

    writes = "tensor"
    is_main = True
    is_sink = True
    optional_outputs = frozenset({0})

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

    def run(self, use: Use) -> Process:
        """An address is the number of a tile; acknowledgements have their structure."""
        addresses, data = use.inputs
        out, tile = use.outputs[0], tuple(use["tile"])
        count = use.memory.tiles(use["tensor"], tile)
        while True:
            at, item = yield from use.take_all((addresses, data))
            if at.kind == VALUE:
                number = int(at.value[0, 0])
                if not 0 <= number < count:
                    use.fail(
                        f"{addresses.name} names tile {number} of tensor {use['tensor']}, "
                        f"which has {count} tiles of {tile[0]}x{tile[1]}"
                    )
                if item.value.shape != tile:
                    use.fail(
                        f"{data.name} gives a tile of {item.value.shape[0]}x{item.value.shape[1]} "
                        f"where tiles of {tile[0]}x{tile[1]} are written"
                    )
                use.memory.write(use.node, number * tile[0] * tile[1], item.value)
                out.value(np.ones((1, 1), DTYPES["bool"]), at.stop)
                continue
            out.put(at)
            if at.kind == DONE:
                return

    def lower(self, node: Node, to: Lowering) -> None:
        """One store, with its channels to the arbiter, and its flags."""
        from stepgen.compile.flags import tiles_in
        from stepgen.hw.design.by_address import in_flight
        from stepgen.hw.units.random_store.params import RandomStore

        tile = node.inputs[1].dtype
        assert isinstance(tile, Tile)
        region = to.regions[node.attrs["tensor"]]
        tiles, (rows, columns) = tiles_of(node), node.attrs["tile"]
        _, ahead = in_flight(to.bus, region.size // tiles)
        params = RandomStore(
            region=node.attrs["tensor"],
            base=region.base,
            rows=rows,
            row_bytes=columns * tile.element.bytes,
            tiles=tiles,
            ahead=ahead,
            addresses=tile.element == address,
        )
        beat_bits = 8 * to.lanes_of(node, tile) * tile.element.bytes
        if problem := params.access_problem(to.bus, beat_bits, region):
            raise to.fail(node, problem)
        channels = params.channels(node.name, to.bus, 2 * to.bus.burst)
        wreq, wdata, ack = (to.add(channel) for channel in channels)
        inputs = {"at": to.input(node, 0), "x": tiles_in(node, to, 1)}
        to.unit(node.name, params, **inputs, ack=ack, y=to.output(node), wreq=wreq, wdata=wdata)
        to.within.append(len(to.stores))
        to.stores.append((wreq, wdata, ack))


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
