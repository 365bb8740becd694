"""Common checks of the off-chip operators."""

from __future__ import annotations

from stepgen.ir.dtypes import Tile, address
from stepgen.ir.expr import Expr
from stepgen.ir.operator import Call
from stepgen.ir.stream import Node, Stream

Layout = tuple[int, int] | None
"""Shape of the tiles of a tensor's layout; None for row-major."""


def tile_of(node: Node) -> tuple[int, int] | None:
    """Shape of the tiles in which a node accesses its tensor; None for dynamic or empty ones."""
    if "tile" in node.attrs:
        rows, cols = node.attrs["tile"]
        return rows, cols
    stored = node.inputs[-1].dtype
    assert isinstance(stored, Tile)
    rows, cols = stored.rows.static, stored.cols.static
    return (rows, cols) if rows and cols else None


def layout_of(node: Node) -> Layout:
    """The layout that a node takes its tensor to have.

    A store that ends within a tile of its tensor, or whose tiles are dynamic or empty, writes row
    by row.
    """
    (height, width), tile = node.graph.tensors[node.attrs["tensor"]].shape, tile_of(node)
    if tile is None or height % tile[0] or width % tile[1] or tile[1] == width:
        return None
    return tile


def say_layout(layout: Layout) -> str:
    """A layout in words."""
    return "row by row" if layout is None else f"in tiles of {layout[0]}x{layout[1]}"


def tiles_of(node: Node) -> int:
    """Tiles of the node's tensor, of its attribute ``tile``."""
    rows, cols = node.graph.tensors[node.attrs["tensor"]].grid(node.attrs["tile"])
    return rows * cols


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
    if cols % tensor.element.packed:
        call.fail(
            f"rows of a tile of {cols} columns of tensor {tensor.name} end within a byte, which "
            f"holds {tensor.element.packed} elements of {tensor.element}"
        )
    return Tile(rows, cols, tensor.element.on_chip)


def tile_bytes(node: Node) -> Expr:
    """Bytes in memory of a tile that a load reads."""
    tile, tensor = node.outputs[0].dtype, node.graph.tensors[node.attrs["tensor"]]
    return tile.bytes / tensor.element.packed


def check_stored(call: Call) -> None:
    """Check that elements of the node's tensor can be written one by one.

    Raises
    ------
    StepError
        Through `call`, if several share a byte.
    """
    tensor = call.graph.tensors[call.attrs["tensor"]]
    if tensor.element.packed > 1:
        call.fail(f"tensor {tensor.name} of {tensor.element} can only be loaded, not written")


def check_addresses(call: Call, stream: Stream) -> None:
    """Check that a stream has addresses.

    Raises
    ------
    StepError
        Through `call`, if it does not.
    """
    if stream.dtype != Tile(1, 1, address):
        call.fail(f"{stream.name} must be a stream of {Tile(1, 1, address)}, not {stream}")
