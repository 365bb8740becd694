"""Streams whose contents the engine needs: addresses, selectors and flags, never tiles.

Tiles have no data in the timing simulation. So the number of a tile to load, or a flag that drops
an element, must come from an input, from counting, or from structure; if it is computed from data,
the contents are taken from the reference.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from stepgen.ir.dtypes import FLAG
from stepgen.ir.errors import StepError
from stepgen.ir.graph import Graph
from stepgen.ir.stream import Node, Stream
from stepgen.timing.tiles.streams import holds_tiles


def check(graph: Graph, given: Collection[str] = ()) -> None:
    """Check that the contents on which the timing of a program depends are known.

    Parameters
    ----------
    graph : Graph
        The program.
    given : collection of str
        Streams whose contents depend on data and are given.

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
    """The streams whose contents are computed from data and affect the timing of a program."""
    makers = dict.fromkeys(maker for _, _, maker in _found(graph))
    return [s for maker in makers for s in maker.outputs if not holds_tiles(s)]


def _found(graph: Graph) -> Iterator[tuple[Node, Stream, Node]]:
    """Nodes, a stream that steers each, and the node that computes it from data."""
    for node in graph.nodes:
        for index in node.face.steered_by(node):
            stream = node.inputs[index]
            maker = decided_by_data(stream)
            if maker is not None:
                yield node, stream, maker


def decided_by_data(stream: Stream, seen: set[Stream] | None = None) -> Node | None:
    """The node that computes flags or numbers from data, if there is one."""
    stream = stream.resolved()
    node = stream.node
    seen = set() if seen is None else seen
    if stream in seen:
        return None
    seen.add(stream)
    contents = node.face.contents(node, stream.port)
    # The contents of tensors of addresses are given, those of others are not.
    if contents is None or (node.face.reads == "tensor" and stream.dtype == FLAG):
        return node
    found = (decided_by_data(node.inputs[index], seen) for index in contents)
    return next((n for n in found if n is not None), None)
