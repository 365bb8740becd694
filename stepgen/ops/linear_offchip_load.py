"""linear_offchip_load: affine reads of a tensor in off-chip memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepgen.compile.circuit import Circuit
from stepgen.compile.stop_use import stops_unused
from stepgen.ir.affine import affine, last_tile, reading, reading_text
from stepgen.ir.dims import indicators, static
from stepgen.ir.errors import StepError
from stepgen.ir.expr import Expr, product_of
from stepgen.ir.graph import build
from stepgen.ir.itensor import Itensor, as_itensor
from stepgen.ir.offchip import tensor_tile, tile_bytes
from stepgen.ir.operator import Call, Operator, Sizes, public
from stepgen.ir.policy import Policy
from stepgen.ir.stream import Node, Out, Stream
from stepgen.ir.tensor import Tensor
from stepgen.ir.tile_order import TileOrder
from stepgen.ir.where import user_line
from stepgen.ir.wire import BARE, DONE, wire_levels
from stepgen.semantics.process import Process, Use

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering
    from stepgen.ir.ordering import Ordering


class LinearOffchipLoad(Operator, Circuit):
    """ref ``[D_b..D_0]`` -> ``[D_b..D_0, O_{a-1}..O_0]``; without ref ``[O_{a-1}..O_0]``.

    Attributes of a node: ``tensor`` (name), ``tile``, ``shape``, ``stride``, ``offset``.
    """

    reads = "tensor"
    is_main = True
    moves = True

    def infer(self, call: Call) -> Sequence[Out]:
        """Check that every read is inside the tensor."""
        tensor = call.graph.tensors[call.attrs["tensor"]]
        for key in ("tile", "shape", "stride"):
            if call.attrs[key] is None:
                call.fail(f"it needs a value for {key}")
        tile = tensor_tile(call)
        shape, stride, offset = call.affine()
        grid = tensor.grid(call.attrs["tile"])
        last = last_tile(shape, stride, offset)
        if last >= grid[0] * grid[1]:
            call.fail(
                f"{reading_text(shape, stride, offset)} reads tile {last} of tensor "
                f"{tensor.name}, which has {grid[0]} x {grid[1]} tiles of {tile}"
            )
        ref = call.inputs[0] if call.inputs else None
        outer = () if ref is None else ref.shape
        return [Out(outer + tuple(static(n) for n in shape), tile, totals=_totals(ref, shape))]

    def steers(self, node: Node, index: int) -> bool:
        """The reference does."""
        return True

    def traffic(self, node: Node, policy: Policy) -> Expr:
        """Every tile, in the bytes of its type."""
        return node.outputs[0].totals[0] * tile_bytes(node)

    def memory(self, node: Node, policy: Policy) -> Expr:
        """The tiles in flight."""
        held = tile_bytes(node) * policy.buffering
        if policy.idle_loads_are_free and node.inputs:
            held *= product_of(*(f for d in node.inputs[0].shape for f in indicators(d.expr)))
        return held

    def measured_memory(self, node: Node, sizes: Sizes) -> int:
        """0 for a load that reads nothing, if the policy does not count those."""
        if sizes.policy.idle_loads_are_free and sizes.tokens == 0:
            return 0
        return int(tile_bytes(node)) * sizes.policy.buffering

    def order(self, of: Ordering) -> TileOrder:
        """As shape and stride say, once for each element of the reference."""
        loops = zip(of.attrs["shape"], of.attrs["stride"], strict=True)
        outer = of.node.inputs[0].shape if of.node.inputs else ()
        return of.load([(loop,) for loop in loops], of.attrs["offset"]).repeated(outer, 0)

    def run(self, use: Use) -> Process:
        """One read for each element of the reference stream, or a single one without it."""
        out, shape = use.outputs[0], use["shape"]
        levels = len(shape)
        if not use.inputs:
            _read(use, levels - 1)
            out.done()
            return
        ref = use.inputs[0]
        while True:
            mark = yield from ref.take()
            if mark.kind == DONE:
                out.done()
                return
            if mark.kind == BARE:
                out.bare(mark.low + levels, mark.stop + levels)
            else:
                _read(use, levels + mark.stop)

    def lower(self, node: Node, to: Lowering) -> None:
        """One load, with its channels to the arbiter."""
        from stepgen.compile.reading import add_load

        ref = node.inputs[0] if node.inputs else None
        add_load(
            node,
            to,
            2 * to.bus.burst,
            None if ref is None else to.input(node, 0, structure_only=True),
            shape=node.attrs["shape"],
            stride=node.attrs["stride"],
            offset=node.attrs["offset"],
            ref_level=None if ref is None else wire_levels(ref.dtype),
            prompt=ref is not None and stops_unused(node.outputs[0]),
            whole=ref is not None and node.attrs["tensor"] in to.written,
        )


def _totals(ref: Stream | None, shape: Sequence[int]) -> dict[int, Expr]:
    if ref is None:
        return {}
    return {level + len(shape): total for level, total in enumerate(ref.totals)}


def _ordered(
    tensor: Tensor, order: Itensor, *others: object
) -> tuple[tuple[int, int], list[int], list[int]]:
    """Tile, shape and stride of a read in an order."""
    if any(other is not None for other in others):
        raise _mistake("an itensor gives tile, shape and stride: leave those out")
    whole = Itensor(tensor.shape, tensor.element.on_chip, (), [()] * 2)
    if order.element != whole.element or order.shape != whole.shape:
        raise _mistake(f"tensor {tensor.name} is {whole}, and an itensor of it can't be {order}")
    (rows, cols), grid = order.tile, tensor.shape[1] // order.tile[1]
    stride = []
    for number, (_, step) in enumerate(order.loops):
        walked = [d for d, used in enumerate(order.map) if number in used]
        if any(step % order.tile[d] for d in walked):
            raise _mistake(
                f"steps of a read must be multiples of its tile, and d{number} steps by {step} in "
                f"{order}"
            )
        stride.append(sum(step // order.tile[d] * (1, grid)[d == 0] for d in walked))
    return (rows, cols), list(order.trips) or [1], stride or [0]


def _mistake(message: str) -> StepError:
    return StepError(f"linear_offchip_load at {user_line()}: {message}")


def _read(use: Use, close: int) -> None:
    """Emit the tiles of one read, the last of which closes `close` dims."""
    tile = tuple(use["tile"])
    for number, stop in affine(*reading(use.node.attrs)):
        data = use.memory.read(use.node, tile, number)
        use.outputs[0].value(data, close if stop == len(use["shape"]) else stop)


@public
def linear_offchip_load(
    tensor: Tensor,
    *,
    tile: tuple[int, int] | None = None,
    shape: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    offset: int = 0,
    itensor: Itensor | str | None = None,
    ref: Stream | None = None,
    name: str | None = None,
) -> Stream:
    """Read a tensor once, or once for each element of a reference stream.

    Parameters
    ----------
    tensor : Tensor
        What to read. Its tiles lie in memory one after the other, row-major.
    tile : tuple of int
        Rows and columns of a tile; they must divide the tensor's.
    shape : sequence of int
        ``[O_{a-1}..O_0]``: the extents of one read, in tiles.
    stride : sequence of int
        Of each of these dims, in tiles: the tile's number is the sum of index times stride;
        stride 0 repeats.
    offset : int, optional
        Number of the first tile of each read.
    itensor : Itensor or str, optional
        Instead of tile, shape and stride: the order of the whole tensor. Each loop of the type is a
        dim of one read.
    ref : Stream, optional
        Each of its elements triggers one read; what it carries is ignored. Without it tiles are
        read ahead, as far as FIFOs hold them; a stride of 0 in `shape` repeats a tile then too.
    name : str, optional
        Name of the node.

    Returns
    -------
    Stream
        ``[D_b..D_0, O_{a-1}..O_0]`` of tiles, D being the dims of `ref`.

    Raises
    ------
    StepError
        If the tile does not divide the tensor or a read goes past its end; if a type is of another
        tensor, or its steps are not multiples of its tile.

    Notes
    -----
    LinearOffChipLoad (paper, section 3); without `ref` it is the static form, one read.

    Examples
    --------
    >>> g = sg.Graph()
    >>> w = g.tensor("w", (16, 32), "int8")
    >>> sg.linear_offchip_load(w, tile=(16, 8), shape=(4,), stride=(1,))
    <linear_offchip_load_0.0 Stream[int8 16x8; 4]>
    >>> ref = g.input("ref", sg.int8[1, 8], (3,))
    >>> sg.linear_offchip_load(w, tile=(16, 8), shape=(4,), stride=(1,), ref=ref)
    <linear_offchip_load_1.0 Stream[int8 16x8; 3, 4]>
    >>> order = "itensor<16x8xint8, iter_space [3, 4]*[1, 8], iter_map (d0, d1) -> (0, d1)>"
    >>> sg.linear_offchip_load(w, itensor=order)
    <linear_offchip_load_2.0 Stream[int8 16x8; 3, 4]>
    """
    if itensor is not None:
        tile, shape, stride = _ordered(tensor, as_itensor(itensor), tile, shape, stride)
    elif tile is None or shape is None or stride is None:
        raise _mistake("it needs tile, shape and stride, or an itensor")
    attrs = {
        "tensor": tensor.name,
        "tile": tile,
        "shape": shape,
        "stride": stride,
        "offset": offset,
    }
    if ref is None:
        return tensor.graph.add("linear_offchip_load", (), attrs, name=name).outputs[0]
    return build("linear_offchip_load", (ref,), attrs, name, tensor=tensor)[0]
