"""What the engine has to know the contents of: numbers of tiles and flags, never tiles.

Tiles carry no data. So a number that says which tile to load, or a flag that drops a piece, comes
from outside, from counting, or from structure; where it is computed from what tiles hold, it has to
be given, as the reference finds it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...ir.dtypes import FLAG
from ...ir.errors import StepError
from ...ir.graph import Graph
from ...ir.stream import Node, Stream
from .streams import LOADS, holds_tiles


def check(graph: Graph, given: Collection[str] = ()) -> None:
    """Check that the contents that steer a program are known.

    Parameters
    ----------
    graph : Graph
        The program.
    given : collection of str
        Streams whose contents are given, though data decides them.

    Raises
    ------
    StepError
        If some are computed from data and not given.
    """
    for node, stream, maker in _found(graph):
        if not any(s.name in given for s in maker.outputs):
            raise StepError(
                f"{node.name} ({node.where}) needs the contents of {stream.name}, which "
                f"{maker.name} makes of data, but a program is timed without data"
            )


def decided(graph: Graph) -> list[Stream]:
    """The streams that steer a program with contents that are computed from data."""
    makers = dict.fromkeys(maker for _, _, maker in _found(graph))
    return [s for maker in makers for s in maker.outputs if not holds_tiles(s)]


def _found(graph: Graph) -> Iterator[tuple[Node, Stream, Node]]:
    """Nodes, what steers them, and who makes that of data."""
    for node in graph.nodes:
        for stream in _steering(node):
            maker = decided_by_data(stream)
            if maker is not None:
                yield node, stream, maker


def _steering(node: Node) -> tuple[Stream, ...]:
    """Inputs whose contents decide what a node does."""
    if node.op in ("random_offchip_load", "random_offchip_store"):
        return node.inputs[:1]
    if node.op == "flat_map" and not node.attrs["fn"].reads_numbers:
        return node.inputs[1:]
    function = node.attrs.get("fn")
    return node.inputs if function is not None and function.reads_numbers else ()


def decided_by_data(stream: Stream, seen: set[Stream] | None = None) -> Node | None:
    """The node that makes flags or numbers of data, where there is one."""
    stream = stream.resolved()
    node = stream.node
    seen = set() if seen is None else seen
    if stream in seen:
        return None
    seen.add(stream)
    if node.op in LOADS:
        # Tensors of addresses are given, others are not.
        return node if stream.dtype == FLAG else None
    if node.op in ("source", "random_offchip_store"):
        return None
    if node.op in ("reshape", "eager_merge") and stream.port == 1:
        return None
    inputs = node.inputs
    function = node.attrs.get("fn")
    if function is not None:
        if function.structural:
            return None
        if not function.reads_numbers:
            return node
    elif node.op == "reassemble":
        inputs = inputs[:-1]
    elif node.op in ("partition", "expand", "streamify"):
        inputs = inputs[:1]
    found = (decided_by_data(s, seen) for s in inputs)
    return next((n for n in found if n is not None), None)
