"""Location of the tiles of a stream: in on-chip memory, or passed directly between units."""

from __future__ import annotations

from stepgen.ir.dtypes import FLAG, Tile, address
from stepgen.ir.policy import Policy
from stepgen.ir.stream import Stream


def holds_tiles(stream: Stream) -> bool:
    """Whether the stream has tiles, not numbers or flags."""
    dtype = stream.dtype
    return isinstance(dtype, Tile) and dtype != FLAG and dtype.element != address


def origin(stream: Stream) -> Stream:
    """The stream of the producer of these tiles, before operators that only pass them on."""
    stream = stream.resolved()
    while stream.node.face.keeps_tiles:
        stream = stream.node.inputs[0].resolved()
    return stream


def rests(stream: Stream) -> bool:
    """Whether a consumer reads the tiles from on-chip memory.

    Tiles that were loaded or read from a buffer are there, and those that their producer writes
    there; all others come directly from their producer, or through a Partition or merge.
    """
    stream = origin(stream)
    node = stream.node
    if node.face.reads:
        return True
    function = node.attrs.get("fn")
    if function is not None and function.gathers:
        return rests(node.inputs[0])
    return function is not None and is_written(stream)


def is_written(stream: Stream) -> bool:
    """Whether an operator writes its result to on-chip memory: for a buffer, or for a store."""
    users = [node for node, _ in stream.graph.consumers(stream)]
    return any(node.face.writes for node in users)


def element_bytes(stream: Stream, policy: Policy) -> int:
    """Bytes of a tile element on chip: of its type if it was loaded, else by the policy."""
    tile = stream.dtype
    if not isinstance(tile, Tile):
        return 0
    if origin(stream).node.face.reads == "tensor":
        return tile.element.bytes
    return policy.bytes_per_element(tile)
