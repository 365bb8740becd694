"""linear_offchip_store: writes tiles to off-chip memory one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepgen.compile.circuit import Circuit
from stepgen.ir.dtypes import Tile
from stepgen.ir.expr import Expr
from stepgen.ir.graph import build
from stepgen.ir.offchip import check_stored
from stepgen.ir.operator import Call, Operator, Sizes, public
from stepgen.ir.policy import Policy
from stepgen.ir.stream import Node, Out, Stream
from stepgen.ir.tensor import Tensor
from stepgen.ir.wire import DONE, VALUE
from stepgen.semantics.process import Process, Use

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering


class LinearOffchipStore(Operator, Circuit):
    """``[D_a..D_0]`` -> nothing. Attributes of a node: ``tensor`` (name)."""

    writes = "tensor"
    is_main = True
    is_sink = True
    writes_unnoticed = True

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

    def run(self, use: Use) -> Process:
        """Structure is ignored; the tensor must be large enough."""
        x, name = use.inputs[0], use["tensor"]
        start, room = 0, use.memory.images[name].size
        while True:
            token = yield from x.take()
            if token.kind == DONE:
                return
            if token.kind == VALUE:
                if start + token.value.size > room:
                    use.fail(
                        f"{x.name} has more than the {room} elements that tensor {name} has room "
                        f"for"
                    )
                use.memory.write(use.node, start, token.value)
                start += token.value.size

    def lower(self, node: Node, to: Lowering) -> None:
        """One store, with its channels to the arbiter."""
        from stepgen.compile.flags import tiles_in
        from stepgen.hw.units.store.params import Store

        (x,) = node.inputs
        tile = x.dtype
        assert isinstance(tile, Tile)
        tensor = node.graph.tensors[node.attrs["tensor"]]
        region = to.regions[tensor.name]
        columns, lanes = to.columns(node, tile), to.lanes_of(node, tile)
        row_bytes = columns * tile.element.bytes if columns % lanes else 0
        params = Store(region=tensor.name, base=region.base, size=region.size, row_bytes=row_bytes)
        if problem := params.access_problem(to.bus, 8 * lanes * tile.element.bytes, region):
            raise to.fail(node, problem)
        channels = params.channels(node.name, to.bus, 2 * to.bus.burst)
        wreq, wdata, ack = (to.add(channel) for channel in channels)
        to.unit(node.name, params, x=tiles_in(node, to, 0), ack=ack, wreq=wreq, wdata=wdata)
        to.stores.append((wreq, wdata, ack))


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
