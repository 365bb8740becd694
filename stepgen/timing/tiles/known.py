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
from .streams import holds_tiles


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
        for index in node.face.steered_by(node):
            stream = node.inputs[index]
            maker = decided_by_data(stream)
            if maker is not None:
                yield node, stream, maker


def decided_by_data(stream: Stream, seen: set[Stream] | None = None) -> Node | None:
    """The node that makes flags or numbers of data, where there is one."""
    stream = stream.resolved()
    node = stream.node
    seen = set() if seen is None else seen
    if stream in seen:
        return None
    seen.add(stream)
    contents = node.face.contents(node, stream.port)
    # Tensors of addresses are given, others are not.
    if contents is None or (node.face.reads == "tensor" and stream.dtype == FLAG):
        return node
    found = (decided_by_data(node.inputs[index], seen) for index in contents)
    return next((n for n in found if n is not None), None)
